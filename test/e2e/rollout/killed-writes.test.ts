// SPDX-License-Identifier: Apache-2.0
// The whole control plane dies at each write of a rollout in every phase, before and after the server has taken it, with and without its
// functions, and another one continues: no step is skipped or taken twice, no bucket moves twice, and no approval is lost.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { systemClock } from "@purlin/base";
import { type Informer, type KubeRequest, type KubeTransport, startInformer } from "@purlin/kube-client";
import { eventually } from "@purlin/kube-controller/testing";
import { forbidden } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  annotationOf,
  type KubeObject,
  memberAt,
  numberAt,
  objectsAt,
  stringAt,
  textsAt,
} from "@purlin/kube-objects/object";
import { rolloutAnnotations } from "@purlin/rollout";
import { functionsBelow } from "../harness/up-machine.ts";
import { type BucketKey, type BucketScene, bucketType, startBucketScene } from "./bucket-scene.ts";
import { compositeText, functionRevisionType } from "./kinds.ts";

const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const templateType = { ...rolloutType, kind: "FunctionRolloutTemplate" };
const buckets: readonly BucketKey[] = ["a", "b", "c"].map((name) => ({ namespace: "team-a", name }));
const approval = "Manual";
const hour = 60 * 60_000;

/** How often the control plane has died at a write, by what the write was. */
const deaths = new Map<string, number>();
let restarted: Promise<void> = Promise.resolve();
let scene: BucketScene;
let informer: Informer;
/** The revisions that made each bucket, in order. */
let trails = new Map<string, string[]>();
/** What the clock of the control plane is ahead of that of the machine. */
let ahead = 0;
const clock = { now: () => Date.now() + ahead, schedule: systemClock.schedule };

/** The answer of the webhook that one rollout asks. */
let passed = true;
const webhook = createServer((_, answer) => void answer.end(JSON.stringify({ passed })));

/** The rollout that is followed. */
let rolloutName = "";

/** What a write of the controllers of rollouts says; undefined for all other requests. */
function nameOf({ method, path, body }: KubeRequest): string | undefined {
  if (method === "GET" || typeof body !== "object" || body === null || Array.isArray(body)) return undefined;
  const object = body as JsonObject;
  if (path.endsWith("/functionrollouts")) return "creates the rollout";
  const [, rollout, status] = /\/functionrollouts\/([^/]+)(\/status)?$/.exec(path) ?? [];
  if (rollout !== undefined && status === undefined) return `${rollout}: aborts the rollout`;
  if (rollout !== undefined) {
    const progressing = objectsAt(object, ["status", "conditions"]).find((one) => one["type"] === "Progressing") ?? {};
    const step = numberAt(object, ["status", "currentStep"]) + 1;
    return `${rollout}: ${stringAt(object, ["status", "phase"])} ${step} ${stringAt(progressing, ["reason"])}`;
  }
  const mark = memberAt(object, ["metadata", "annotations"]) as JsonObject | undefined;
  const isMark = method === "PATCH" && path.includes("/functionrevisions/") && mark !== undefined;
  const value = isMark ? mark["pkg.crossplane.io/withheld"] : undefined;
  return value === undefined
    ? undefined
    : value === null
      ? `${rolloutName}: releases a revision`
      : `${String(value)}: withholds a revision`;
}

/** Nothing is tried again after this answer: a process that is dead must not take long to end. */
const refused = (): Error => forbidden({ group: "", resource: "anything" }, "", "this process is dead");

/** The transport of one process, which sends nothing after its death. It dies before the first write of each name, and after the second. */
function mortal(transport: KubeTransport): KubeTransport {
  let isDead = false;
  return {
    ...transport,
    async request(request) {
      if (isDead && request.method !== "GET") throw refused();
      const name = nameOf(request);
      const before = name === undefined ? 2 : (deaths.get(name) ?? 0);
      if (name === undefined || before === 2) return transport.request(request);
      isDead = true;
      deaths.set(name, before + 1);
      if (before === 1) await transport.request(request);
      // Functions die with it, or live on where they are not its children.
      if (before === 0) for (const { pid } of functionsBelow(process.pid)) process.kill(pid, "SIGKILL");
      // It may die again before it is up.
      restarted = restarted.then(() => scene.restart(true));
      throw refused();
    },
  };
}

before(async () => {
  await new Promise<void>((resolve) => void webhook.listen(0, "127.0.0.1", resolve));
  // A process that is killed finishes nothing.
  const settings = { stopGraceMs: 0 };
  const flags = { functionRevisionSelectors: true, functionRollouts: true };
  scene = await startBucketScene({ ...flags, settings, transport: mortal, clock });
  await scene.publish("v1");
  await scene.install({ version: "v1", spec: { revisionHistoryLimit: 9 } });
  await scene.serving("v1");
  await scene.compose("stable");
  for (const key of buckets) await scene.addBucket(key, "stable");
  const labels = { tier: "canary" };
  await scene.users.patch(
    { ...bucketType, namespace: "team-a", name: "a" },
    { metadata: { labels } },
    { type: "merge" },
  );
  await scene.well(...buckets);
  informer = startInformer(scene.users, bucketType);
  await informer.synced();
  informer.subscribe(({ object }) => {
    const { spec, status } = compositeText(object);
    const revision = status?.crossplane?.functionRevisions?.[0]?.functionRevision ?? "";
    const made = `${revision} ${spec.crossplane?.compositionRevisionRef?.name ?? ""}`;
    const name = object.metadata.name ?? "";
    const trail = trails.get(name) ?? [];
    trails.set(name, trail.at(-1) === made ? trail : [...trail, made]);
  });
});
after(async () => {
  await restarted;
  await informer.stop();
  webhook.close();
  await scene[Symbol.asyncDispose]();
});

const statusOf = (rollout: KubeObject): JsonObject => (rollout["status"] ?? {}) as JsonObject;

/** Annotations that a person sets when a rollout has this status. */
type Person = (status: JsonObject) => Readonly<Record<string, string>>;

/** Approves each step that waits; opens windows by setting the clock. */
const agreeable: Person = (status) => {
  const step = stringAt(status, ["awaitingApproval"]);
  return step === "" ? {} : { [rolloutAnnotations.approve]: step };
};

interface Ended {
  readonly rollout: KubeObject;
  readonly decisions: readonly string[];
  /** The ways that buckets went, without repetitions. */
  readonly ways: readonly string[];
}

/** Follows a rollout to its end. */
async function follow(name: string, person: Person): Promise<Ended> {
  rolloutName = name;
  const done = new Set<string>();
  const find = (): Promise<KubeObject | undefined> => scene.find(rolloutType, { name });
  const rollout = await eventually(`${name} ends`, async () => {
    await restarted;
    const found = await find();
    const status = statusOf(found ?? ({} as KubeObject));
    if (/^(Succeeded|RolledBack|Failed)$/.test(stringAt(status, ["phase"]))) return found;
    for (const [key, value] of Object.entries(person(status))) {
      if (done.has(`${key} ${value}`)) continue;
      done.add(`${key} ${value}`);
      const annotations = { [key]: value };
      await scene.users.patch({ ...rolloutType, name }, { metadata: { annotations } }, { type: "merge" });
    }
    return undefined;
  });
  const candidate = stringAt(rollout, ["status", "candidateRevision"]);
  if (stringAt(rollout, ["status", "phase"]) === "Succeeded" && candidate.startsWith("function-")) {
    await scene.until("the revision is released", functionRevisionType, { name: candidate }, (one) => {
      return annotationOf(one, "pkg.crossplane.io/withheld") === undefined;
    });
  }
  await restarted;
  await scene.look(...buckets);
  const decisions = objectsAt(rollout, ["status", "history"])
    .map((one) => stringAt(one, ["decision"]))
    .filter((one) => !passing.has(one))
    .filter((one, index, all) => one !== all[index - 1] || !repeatable.has(one));
  const ways = new Set([...trails.values()].map((trail) => trail.join(", ")));
  return { rollout, decisions, ways: [...ways].toSorted() };
}

const passing: ReadonlySet<string> = new Set(["StepInProgress", "CandidateNotServing", "WaitingForCandidate"]);
/** A process that knows no calls yet has to judge gates again before it can say once more what is waited for. */
const repeatable: ReadonlySet<string> = new Set(["WaitingForApproval", "WaitingForWindow", "Baking"]);

/** Where buckets are now; the ways they go are counted from here. */
async function forgetTrails(): Promise<string> {
  trails = new Map();
  for (const object of informer.list()) {
    const { function: revision, composition } = await scene.madeBy(object.metadata as BucketKey);
    trails.set(object.metadata.name ?? "", [`${revision} ${composition}`]);
  }
  const [[only = ""] = []] = trails.values();
  return only;
}

/** Fails unless the control plane died before and after each of these writes. */
function assertDeaths(...names: readonly string[]): void {
  const found = Object.fromEntries(names.map((name) => [name, deaths.get(name) ?? 0]));
  assert.deepEqual(found, Object.fromEntries(names.map((name) => [name, 2])), JSON.stringify([...deaths]));
}

// Calls that a killed function could not answer are not the candidate's fault; what is not synced for long is.
const healthGates = [
  { type: "RuntimeHealthy" },
  { type: "CompositeCondition", condition: "Synced", minRatio: "1", within: "20s" },
];
const functionRef = { name: "function-bucket" };
const kept = { revisionHistoryLimit: 9 };

async function rollOut(name: string, spec: object): Promise<void> {
  await scene.apply({ ...rolloutType, metadata: { name }, spec } as KubeObject);
}

async function install(version: string, spec: object = {}): Promise<void> {
  await scene.publish(version);
  await scene.install({ version, spec: { ...kept, ...spec } });
}

/** What buckets are made by after a rollout, given what they were made by before it. */
function movedFrom(from: string, rollout: KubeObject): string {
  const [stable, candidate] = ["stableRevision", "candidateRevision"].map((side) =>
    stringAt(rollout, ["status", side]),
  );
  return from.replace(stable ?? "", candidate ?? "");
}

test("a function: shadow, cohort, share with approval, pause, minimum duration, window and bake time", async () => {
  const from = await forgetTrails();
  const at = new Date(clock.now() + 2 * hour).getUTCHours();
  const window = { schedule: `0 ${at} * * *`, timeZone: "UTC", duration: "30m" };
  await rollOut("forward", {
    functionRef,
    steps: [
      { shadow: true },
      { cohort: { matchLabels: { tier: "canary" } } },
      { percent: 30, approval },
      { pause: true },
      { percent: 60, minDuration: "2s" },
      { percent: 100, window },
    ],
    healthGates: [...healthGates, { type: "DesiredDiff", maxDeleted: 0 }],
    bakeTime: "2s",
  });
  await install("v2");
  const { rollout, decisions, ways } = await follow("forward", (status) => {
    const progressing = objectsAt(status, ["conditions"]).find((one) => one["type"] === "Progressing") ?? {};
    const isDone = deaths.get("forward: Progressing 5 WaitingForWindow") === 2;
    if (progressing["reason"] === "WaitingForWindow" && isDone && ahead === 0) ahead = untilHour(at);
    return agreeable(status);
  });
  const waves = [
    "StepStarted",
    "StepStarted",
    "WaitingForApproval",
    "StepStarted",
    "WaitingForApproval",
    "StepStarted",
  ];
  const end = ["WaitingForWindow", "StepStarted", "Baking", "RolloutSucceeded"];
  assert.deepEqual(decisions, ["RolloutStarted", ...waves, ...end]);
  assert.deepEqual(textsAt(rollout, ["status", "approvedSteps"]), ["step-3", "step-4"]);
  assert.deepEqual(ways, [`${from}, ${movedFrom(from, rollout)}`]);
  const progress = [
    ...["1 RolloutStarted", "2 StepStarted", "3 StepStarted", "3 WaitingForApproval"],
    ...["4 StepStarted", "4 WaitingForApproval", "5 StepStarted", "5 WaitingForWindow"],
    ...["6 StepStarted", "6 Baking"],
  ].map((one) => `forward: Progressing ${one}`);
  const first = ["forward: Pending 1 WaitingForCandidate", "forward: withholds a revision"];
  assertDeaths(...first, ...progress, "forward: Succeeded 6 RolloutSucceeded", "forward: releases a revision");
});

/** How long it is to the first minute of an hour. */
function untilHour(at: number): number {
  const opens = new Date(clock.now());
  opens.setUTCHours(at, 0, 30, 0);
  const later = opens.getTime() - Date.now();
  return later > 0 ? later : later + 24 * hour;
}

/** What a rollout says while it waits for the approval of a step, after the control plane has died there twice. */
const waits = (status: JsonObject, write: string): boolean =>
  stringAt(status, ["awaitingApproval"]) !== "" && deaths.get(write) === 2;

/** Some buckets moved, and all are back. */
function assertBack({ rollout, ways }: Ended, from: string): void {
  const allowed = [from, `${from}, ${movedFrom(from, rollout)}, ${from}`];
  assert.ok(ways.includes(allowed[1] ?? ""), ways.join("; "));
  assert.deepEqual(
    ways.filter((way) => !allowed.includes(way)),
    [],
  );
}

test("a function whose gate fails: all move back", async () => {
  await scene.users.delete({ ...rolloutType, name: "forward" });
  const from = await forgetTrails();
  const { port } = webhook.address() as AddressInfo;
  const asked = { type: "Webhook", url: `http://127.0.0.1:${port}/`, interval: "1s" };
  const steps = [{ cohort: { matchLabels: { tier: "canary" } }, approval }, { percent: 100 }];
  await rollOut("back", { functionRef, steps, healthGates: [...healthGates, asked] });
  await install("v3");
  const ended = await follow("back", (status) => {
    if (waits(status, "back: Progressing 1 WaitingForApproval")) passed = false;
    return {};
  });
  assert.deepEqual(ended.decisions, ["RolloutStarted", "WaitingForApproval", "GateFailed", "RolledBack"]);
  assertBack(ended, from);
  assertDeaths("back: RollingBack 1 GateFailed", "back: RolledBack 1 GateFailed");
});

test("a function whose rollout is aborted: all move back", async () => {
  const rejected = await scene.get(rolloutType, { name: "back" });
  await scene.users.delete({ ...rolloutType, name: "back" });
  const from = await forgetTrails();
  const candidate = { functionRevisionRef: { name: stringAt(rejected, ["status", "candidateRevision"]) } };
  const steps = [{ percent: 60, approval }, { percent: 100 }];
  await rollOut("aborted", { functionRef, candidate, steps, healthGates });
  const ended = await follow("aborted", (status) =>
    waits(status, "aborted: Progressing 1 WaitingForApproval") ? { [rolloutAnnotations.abort]: "no" } : {},
  );
  assert.deepEqual(ended.decisions, ["RolloutStarted", "WaitingForApproval", "Aborted", "RolledBack"]);
  assertBack(ended, from);
  assertDeaths("aborted: RollingBack 1 Aborted", "aborted: RolledBack 1 Aborted");
});

test("a Composition: cohort, share with approval, and bake time", async () => {
  await scene.users.delete({ ...rolloutType, name: "aborted" });
  const from = await forgetTrails();
  const steps = [{ cohort: { matchLabels: { tier: "canary" } } }, { percent: 60, approval }, { percent: 100 }];
  await rollOut("composition", { compositionRef: { name: "buckets" }, steps, bakeTime: "2s" });
  await scene.until("it waits for a revision", rolloutType, { name: "composition" }, (one) => {
    return stringAt(one, ["status", "stableRevision"]) !== "";
  });
  await scene.compose("stable", { input: { apiVersion: "example.org/v1", kind: "Input" } });
  const { rollout, decisions, ways } = await follow("composition", agreeable);
  const waves = ["StepStarted", "WaitingForApproval", "StepStarted"];
  assert.deepEqual(decisions, ["RolloutStarted", ...waves, "Baking", "RolloutSucceeded"]);
  assert.deepEqual(textsAt(rollout, ["status", "approvedSteps"]), ["step-2"]);
  assert.deepEqual(ways, [`${from}, ${movedFrom(from, rollout)}`]);
  const progress = ["1 RolloutStarted", "2 StepStarted", "2 WaitingForApproval", "3 StepStarted", "3 Baking"];
  assertDeaths(
    ...progress.map((one) => `composition: Progressing ${one}`),
    "composition: Succeeded 3 RolloutSucceeded",
  );
});

test("a Function with a policy: the rollout of a new version is created once", async () => {
  await scene.users.delete({ ...rolloutType, name: "composition" });
  const from = await forgetTrails();
  const template = { name: "at-once" };
  const spec = { steps: [{ percent: 100 }], healthGates };
  await scene.apply({ ...templateType, metadata: template, spec } as KubeObject);
  await install("v4", { rolloutPolicy: { templateRef: template } });
  const { metadata } = await scene.revisionOf("v4");
  const { rollout, decisions, ways } = await follow(metadata.name ?? "", () => ({}));
  assert.deepEqual(decisions, ["RolloutStarted", "RolloutSucceeded"]);
  assert.deepEqual(ways, [`${from}, ${movedFrom(from, rollout)}`]);
  assertDeaths("creates the rollout", `${metadata.name}: releases a revision`);
});
