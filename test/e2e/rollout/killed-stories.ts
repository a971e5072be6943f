// SPDX-License-Identifier: Apache-2.0
// Rollouts of a function and of a Composition in every phase, on a control plane that dies again and again: no step is skipped or taken
// twice, no bucket moves twice, and no approval is lost.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, objectsAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { rolloutAnnotations } from "@purlin/rollout";
import { eventually } from "../harness/plane.ts";
import { type BucketKey, type BucketScene, bucketType } from "./bucket-scene.ts";
import type { DeathList } from "./death-list.ts";
import { functionRevisionType } from "./kinds.ts";
import { type RolloutRules, rolloutType, watchRules } from "./rollout-rules.ts";

/** A platform whose control plane dies at writes. */
export interface MortalPlane extends AsyncDisposable {
  readonly scene: BucketScene;
  readonly deaths: DeathList;
  /** Resolves when there is a control plane that has not died yet. */
  alive(): Promise<void>;
  /** A maintenance window that is closed until the clock is set; without one, a person closes and opens a window by edits. */
  readonly window?: JsonObject;
  /** Sets the clock of the control plane to a time at which that window is open. */
  setClock?(): void;
}

const templateType = { ...rolloutType, kind: "FunctionRolloutTemplate" };
const buckets: readonly BucketKey[] = ["a", "b", "c"].map((name) => ({ namespace: "team-a", name }));
const approval = "Manual";
/** Closed but for one minute in four years. */
const closed = { schedule: "0 0 29 2 *", timeZone: "UTC", duration: "1m" };

let plane: MortalPlane;
let scene: BucketScene;
let deaths: DeathList;
let rules: RolloutRules;

/** The answer of the webhook that one rollout asks. */
let passed = true;
const webhook = createServer((_, answer) => void answer.end(JSON.stringify({ passed })));

async function begin(start: () => Promise<MortalPlane>): Promise<void> {
  await new Promise<void>((resolve) => void webhook.listen(0, "127.0.0.1", resolve));
  plane = await start();
  ({ scene, deaths } = plane);
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
  rules = await watchRules(scene.users);
}

async function end(): Promise<void> {
  webhook.close();
  // A control plane that dies at a write of its own end would be started while the API server stops.
  deaths?.end();
  await plane?.alive();
  await rules?.[Symbol.asyncDispose]();
  await plane?.[Symbol.asyncDispose]();
}

const statusOf = (rollout: KubeObject): JsonObject => (rollout["status"] ?? {}) as JsonObject;

/** What a person changes once when a rollout has this status, by name. */
type Person = (status: JsonObject) => Readonly<Record<string, JsonObject>>;

const annotated = (key: keyof typeof rolloutAnnotations, value: string): JsonObject => ({
  metadata: { annotations: { [rolloutAnnotations[key]]: value } },
});

/** Approves each step that waits. */
const agreeable: Person = (status) => {
  const step = stringAt(status, ["awaitingApproval"]);
  return step === "" ? {} : { [`approves ${step}`]: annotated("approve", step) };
};

interface Ended {
  readonly rollout: KubeObject;
  readonly decisions: readonly string[];
  /** The ways that buckets went, without repetitions. */
  readonly ways: readonly string[];
}

/** Follows a rollout to its end. */
async function follow(name: string, person: Person): Promise<Ended> {
  const done = new Set<string>();
  const isNews = changes(name);
  const look = async (): Promise<KubeObject | undefined> => {
    await plane.alive();
    const found = await scene.find(rolloutType, { name });
    const status = statusOf(found ?? ({} as KubeObject));
    if (/^(Succeeded|RolledBack|Failed)$/.test(stringAt(status, ["phase"]))) return found;
    for (const [key, change] of Object.entries(person(status))) {
      if (done.has(key)) continue;
      await scene.users.patch({ ...rolloutType, name }, change, { type: "merge" });
      done.add(key);
    }
    return undefined;
  };
  let rollout: KubeObject | undefined;
  while (rollout === undefined) {
    await eventually(`${name} continues`, async () => {
      rollout = await look();
      return rollout !== undefined || (await isNews());
    });
    rules.assertKept();
  }
  const candidate = stringAt(rollout, ["status", "candidateRevision"]);
  if (stringAt(rollout, ["status", "phase"]) === "Succeeded" && candidate.startsWith("function-")) {
    await scene.until("the revision is released", functionRevisionType, { name: candidate }, (one) => {
      return annotationOf(one, "pkg.crossplane.io/withheld") === undefined;
    });
  }
  await plane.alive();
  await scene.look(...buckets);
  await plane.alive();
  rules.assertKept();
  const decisions = rules
    .decisions(name)
    .filter((one) => !passing.has(one))
    .filter((one, index, all) => one !== all[index - 1] || !repeatable.has(one));
  return { rollout, decisions, ways: rules.ways() };
}

/** Says whether the rollout has changed, or the control plane has died, since it was asked before. */
function changes(name: string): () => Promise<boolean> {
  let last = "";
  return async () => {
    const found = await scene.find(rolloutType, { name });
    const before = last;
    last = `${found?.metadata.resourceVersion} ${[...deaths.all().values()].join()}`;
    return last !== before;
  };
}

const passing: ReadonlySet<string> = new Set(["StepInProgress", "CandidateNotServing", "WaitingForCandidate"]);
/** A process that knows no calls yet has to judge gates again before it can say once more what is waited for. */
const repeatable: ReadonlySet<string> = new Set(["WaitingForApproval", "WaitingForWindow", "Baking"]);

/** Fails unless the control plane died as often as it is meant to at each of these decisions. */
function assertDeaths(...names: readonly string[]): void {
  assert.deepEqual(
    names.filter((name) => !deaths.isOver(name)),
    [],
    JSON.stringify([...deaths.all()]),
  );
}

// Calls that a killed function could not answer are not the candidate's fault; what is not synced for long is.
const healthGates = [
  { type: "RuntimeHealthy" },
  { type: "CompositeCondition", condition: "Synced", minRatio: "1", within: "20s" },
];
const functionRef = { name: "function-bucket" };
const kept = { revisionHistoryLimit: 9 };

async function rollOut(name: string, spec: object, options?: { readonly isAtEvents: boolean }): Promise<void> {
  deaths.begin(name, options);
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

/** What a rollout says while it waits for the approval of a step, after the control plane has died there. */
const waits = (status: JsonObject, write: string): boolean =>
  stringAt(status, ["awaitingApproval"]) !== "" && deaths.isOver(write);

/** Some buckets moved, and all are back. */
function assertBack({ rollout, ways }: Ended, from: string): void {
  const allowed = [from, `${from}, ${movedFrom(from, rollout)}, ${from}`];
  assert.ok(ways.includes(allowed[1] ?? ""), ways.join("; "));
  assert.deepEqual(
    ways.filter((way) => !allowed.includes(way)),
    [],
  );
}

/** Carries out rollouts, one test each, on the platform that is started here. It dies at each of some kinds of writes, too. */
export function testStories(start: () => Promise<MortalPlane>, kinds: readonly string[]): void {
  before(() => begin(start));
  after(end);

  test("a function: shadow, cohort, share with approval, pause, minimum duration, window and bake time", async () => {
    const from = rules.forgetWays();
    await rollOut("forward", {
      functionRef,
      steps: [
        { shadow: true },
        { cohort: { matchLabels: { tier: "canary" } } },
        { percent: 30, approval },
        { pause: true },
        { percent: 60, minDuration: "2s" },
        { percent: 100, ...(plane.window && { window: plane.window }) },
      ],
      healthGates: [...healthGates, { type: "DesiredDiff", maxDeleted: 0 }],
      bakeTime: "2s",
    });
    await install("v2");
    // A window that is closed by an edit is closed from the step before.
    const waitsAt = plane.window === undefined ? 4 : 5;
    const { rollout, decisions, ways } = await follow("forward", (status) => {
      const progressing = objectsAt(status, ["conditions"]).find((one) => one["type"] === "Progressing") ?? {};
      const isDone = deaths.isOver(`forward: Progressing ${waitsAt} WaitingForWindow`);
      const opens = progressing["reason"] === "WaitingForWindow" && isDone;
      if (opens) plane.setClock?.();
      const isClosing = plane.window === undefined && stringAt(status, ["awaitingApproval"]) === "step-4";
      return {
        ...(isClosing
          ? { "approves step-4": { ...annotated("approve", "step-4"), spec: { window: closed } } }
          : agreeable(status)),
        ...(opens && plane.window === undefined && { "opens the window": { spec: { window: null } } }),
      };
    });
    const waves = ["StepStarted", "StepStarted", "WaitingForApproval", "StepStarted", "WaitingForApproval"];
    const last = ["StepStarted", "StepStarted"].toSpliced(waitsAt - 4, 0, "WaitingForWindow");
    assert.deepEqual(decisions, ["RolloutStarted", ...waves, ...last, "Baking", "RolloutSucceeded"]);
    assert.deepEqual(textsAt(rollout, ["status", "approvedSteps"]), ["step-3", "step-4"]);
    assert.deepEqual(ways, [`${from}, ${movedFrom(from, rollout)}`]);
    const progress = [
      ...["1 RolloutStarted", "2 StepStarted", "3 StepStarted", "3 WaitingForApproval"],
      ...["4 StepStarted", "4 WaitingForApproval", "5 StepStarted", `${waitsAt} WaitingForWindow`],
      ...["6 StepStarted", "6 Baking"],
    ].map((one) => `forward: Progressing ${one}`);
    const first = ["forward: Pending 1 WaitingForCandidate", "forward: withholds a revision"];
    assertDeaths(...first, ...progress, "forward: Succeeded 6 RolloutSucceeded", "forward: releases a revision");
  });

  test("a function whose gate fails: all move back", async () => {
    await scene.users.delete({ ...rolloutType, name: "forward" });
    const from = rules.forgetWays();
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
    const from = rules.forgetWays();
    const candidate = { functionRevisionRef: { name: stringAt(rejected, ["status", "candidateRevision"]) } };
    const steps = [{ percent: 60, approval }, { percent: 100 }];
    await rollOut("aborted", { functionRef, candidate, steps, healthGates }, { isAtEvents: true });
    const ended = await follow("aborted", (status) =>
      waits(status, "aborted: Progressing 1 WaitingForApproval") ? { aborts: annotated("abort", "no") } : {},
    );
    assert.deepEqual(ended.decisions, ["RolloutStarted", "WaitingForApproval", "Aborted", "RolledBack"]);
    assertBack(ended, from);
    assertDeaths("aborted: RollingBack 1 Aborted", "aborted: RolledBack 1 Aborted");
  });

  test("a Composition: cohort, share with approval, and bake time", async () => {
    await scene.users.delete({ ...rolloutType, name: "aborted" });
    const from = rules.forgetWays();
    const steps = [{ cohort: { matchLabels: { tier: "canary" } } }, { percent: 60, approval }, { percent: 100 }];
    await rollOut("composition", { compositionRef: { name: "buckets" }, steps, bakeTime: "2s" }, { isAtEvents: true });
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
    const from = rules.forgetWays();
    const template = { name: "at-once" };
    const spec = { steps: [{ percent: 100 }], healthGates };
    await scene.apply({ ...templateType, metadata: template, spec } as KubeObject);
    // The rollout will have the name of a revision that is not there yet.
    deaths.begin("policy");
    await install("v4", { rolloutPolicy: { templateRef: template } });
    const { metadata } = await scene.revisionOf("v4");
    const { rollout, decisions, ways } = await follow(metadata.name ?? "", () => ({}));
    assert.deepEqual(decisions, ["RolloutStarted", "RolloutSucceeded"]);
    assert.deepEqual(ways, [`${from}, ${movedFrom(from, rollout)}`]);
    assertDeaths("creates the rollout", "policy: releases a revision");
  });

  test("the control plane has died at all kinds of writes", () => {
    const names = [...deaths.all().keys()];
    assert.deepEqual(
      kinds.filter((kind) => !names.some((name) => name === kind || name.includes(`: ${kind} `))),
      [],
      names.join("\n"),
    );
  });
}
