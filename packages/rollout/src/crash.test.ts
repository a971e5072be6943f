// SPDX-License-Identifier: Apache-2.0
// The controller of rollouts is stopped at every write that it makes, before and after the server took it, and another one continues.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { compositionCrds, deriveCompositeCrd } from "@purlin/composition";
import { bucketOf, isMember, readRollout, ShadowStore } from "@purlin/function-runner";
import { createInformerPool, createKubeClient, type InformerPool, type KubeClient } from "@purlin/kube-client";
import { type ControllerClient, createControllerClient, installCrds, noEvents } from "@purlin/kube-controller";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import { annotationOf, type KubeObject, keyText, type ObjectKey } from "@purlin/kube-objects/object";
import { functionCrds, rolloutType } from "@purlin/package-manager";
import { type CallSamples, createCallSamples } from "./call-samples.ts";
import { createRolloutController } from "./controller.ts";
import { rolloutAnnotations } from "./observe.ts";

const type = { apiVersion: "example.org/v1", kind: "App" };
const functionRevision = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };
const count = 8;
const closing = new AsyncDisposableStack();
let kube: KubeClient;
let informers: InformerPool;

before(async () => {
  const server = await startTestServer();
  closing.defer(() => server.stop());
  kube = createKubeClient(server.connect());
  closing.defer(() => kube.close());
  informers = createInformerPool(kube);
  closing.defer(() => informers.stop());
  await installCrds(kube, [
    ...compositionCrds(),
    ...functionCrds({ functionRevisionSelectors: true, functionRollouts: true }),
  ]);
  const schema = { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } };
  const version = { name: "v1", served: true, referenceable: true, schema };
  const definition = await kube.create({
    apiVersion: "apiextensions.crossplane.io/v2",
    kind: "CompositeResourceDefinition",
    metadata: { name: "apps.example.org" },
    spec: { group: "example.org", scope: "Cluster", names: { kind: "App", plural: "apps" }, versions: [version] },
  });
  await installCrds(kube, [deriveCompositeCrd(definition, { functionRevisions: true })]);
  await kube.create({
    apiVersion: "pkg.crossplane.io/v1",
    kind: "Function",
    metadata: { name: "f" },
    spec: { package: "example.org/a/f:v1" },
  });
  for (const number of [1, 2]) await kube.create(revisionOf(number));
  for (const number of [1, 2]) await publish(number);
  await kube.create({
    apiVersion: "apiextensions.crossplane.io/v1",
    kind: "CompositionRevision",
    metadata: { name: "apps-1", labels: { "crossplane.io/composition-name": "apps" } },
    spec: {
      revision: 1,
      compositeTypeRef: type,
      mode: "Pipeline",
      pipeline: [{ step: "s", functionRef: { name: "f" } }],
    },
  });
  for (const name of names()) {
    await eventually("the kind is served", () =>
      kube.create({
        ...type,
        metadata: { name },
        spec: { crossplane: { compositionRevisionRef: { name: "apps-1" } } },
      }),
    );
  }
});

after(() => closing.disposeAsync());

const names = (): string[] => Array.from({ length: count }, (_, index) => `app-${index}`);

function revisionOf(number: number): KubeObject {
  const metadata = { name: `f-${number}`, labels: { "pkg.crossplane.io/package": "f" } };
  return {
    ...functionRevision,
    metadata,
    spec: { desiredState: "Active", image: `example.org/a/f:v${number}`, revision: number },
  };
}

async function publish(number: number): Promise<void> {
  const found = await kube.get(functionRevision, { name: `f-${number}` });
  const healthy = {
    type: "RuntimeHealthy",
    status: "True",
    reason: "Healthy",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  await kube.update(
    { ...found, status: { endpoint: `f-${number}:9443`, capabilities: ["composition"], conditions: [healthy] } },
    { subresource: "status" },
  );
}

/** Stops at one write, before or after the server has taken it; whatever comes later fails too. */
interface Fault {
  readonly atWrite: number;
  readonly mode: "lost" | "unanswered";
}

class Stopped extends Error {}

/** A controller process, which may stop at a write. */
function startController({ clock, monotonic, samples, shadow, enqueue, fault, writes }: ControllerOptions) {
  const client = createControllerClient({ client: kube, informers });
  let isStopped = false;
  const write = async <T>(send: () => Promise<T>): Promise<T> => {
    if (isStopped) throw new Stopped();
    writes.count++;
    if (writes.count !== fault?.atWrite) return send();
    isStopped = true;
    if (fault.mode === "unanswered") await send();
    throw new Stopped();
  };
  const faulty: ControllerClient = {
    ...client,
    update: (...args) => write(() => client.update(...args)),
    patch: (...args) => write(() => client.patch(...args)),
    create: (...args) => write(() => client.create(...args)),
  };
  const deps = {
    client: faulty,
    engine: { enqueue: (_: string, key: ObjectKey) => enqueue(key) },
    events: noEvents,
    clock,
    log: silentLog,
    samples,
    shadow,
  };
  const { spec } = createRolloutController({ ...deps, monotonic });
  return { reconcile: spec.reconcile, isStopped: () => isStopped, close: () => client.close() };
}

interface ControllerOptions {
  readonly monotonic: () => number;
  readonly clock: { now(): number; schedule: typeof systemClock.schedule };
  readonly samples: CallSamples;
  readonly shadow: ShadowStore;
  readonly enqueue: (key: ObjectKey) => void;
  readonly fault: Fault | undefined;
  readonly writes: { count: number };
}

interface RunOptions {
  readonly name: string;
  readonly fault?: Fault | undefined;
  /** From this step on the candidate fails. */
  readonly failsFrom?: number | undefined;
  /** Two controllers look at the rollout in turns, as if leader election had failed. */
  readonly replicas?: 1 | 2;
  /** The turn at which another process takes over, with nothing of what the first one knew. */
  readonly handOverAt?: number | undefined;
  /** How far the wall clock jumps, in milliseconds, by turn. */
  readonly jumps?: Readonly<Record<number, number>> | undefined;
}

interface Finished {
  readonly status: {
    readonly phase: string;
    readonly history: readonly { readonly decision: string; readonly step: number }[];
    readonly approvedSteps?: readonly string[];
  };
  readonly moves: ReadonlyMap<string, number>;
  readonly writes: number;
  readonly turns: number;
}

/** Carries a rollout out, with composite resources that reconcile when they are woken. */
async function carryOut(options: RunOptions): Promise<Finished> {
  const { name, fault, failsFrom = 99, replicas = 1, handOverAt, jumps = {} } = options;
  await reset();
  let now = 1_800_000_000_000;
  let steady = 0;
  const clock = { now: () => now, schedule: systemClock.schedule };
  const woken = new Map<string, ObjectKey>();
  const writes = { count: 0 };
  let samples = createCallSamples(() => now);
  let shadow = new ShadowStore();
  const process = (own: Fault | undefined) => {
    samples = createCallSamples(() => now);
    shadow = new ShadowStore();
    const enqueue = (key: ObjectKey): void => void woken.set(keyText(key), key);
    return startController({ clock, monotonic: () => steady, samples, shadow, enqueue, fault: own, writes });
  };
  let controllers = [process(fault), ...(replicas === 2 ? [process(undefined)] : [])];
  const moves = new Map<string, number>();
  const steps = [
    { shadow: true, name: "shadow" },
    { percent: 20, approval: "Manual", name: "first" },
    { percent: 60, minDuration: "10s" },
    { percent: 100 },
  ];
  await kube.create({
    ...rolloutType,
    metadata: { name },
    spec: { functionRef: { name: "f" }, candidate: { functionRevisionRef: { name: "f-2" } }, steps },
  });
  let isApproved = false;
  for (let turn = 0; turn < 200; turn++) {
    steady += 5000;
    now += 5000 + (jumps[turn] ?? 0);
    if (turn === handOverAt) {
      for (const left of controllers.splice(0)) await left.close();
      controllers.push(process(undefined));
    }
    const controller = controllers[turn % controllers.length];
    await controller?.reconcile({ name }, new AbortController().signal).catch((error: unknown) => {
      const isExpected = error instanceof Stopped || controller.isStopped() || /conflict|modified/i.test(String(error));
      if (!isExpected) throw error;
    });
    if (controller?.isStopped()) {
      await controller.close();
      controllers = controllers.map((one) => (one === controller ? process(undefined) : one));
    }
    const rollout = await kube.get(rolloutType, { name });
    const status = rollout["status"] as
      | (Finished["status"] & { awaitingApproval?: string; currentStep: number })
      | undefined;
    if (status?.awaitingApproval !== undefined && !isApproved) {
      isApproved = true;
      const annotations = { [rolloutAnnotations.approve]: status.awaitingApproval };
      await kube.patch({ ...rolloutType, name }, { metadata: { annotations } }, { type: "merge" });
    }
    if (status !== undefined && ["Succeeded", "RolledBack", "Failed"].includes(status.phase)) {
      for (const controllerLeft of controllers) {
        await controllerLeft.reconcile({ name }, new AbortController().signal).catch(() => {});
        await controllerLeft.close();
      }
      await kube.delete({ ...rolloutType, name });
      return { status, moves, writes: writes.count, turns: turn };
    }
    for (const key of woken.values()) {
      const isBroken = (status?.currentStep ?? 0) >= failsFrom;
      await reconcileComposite(key, rollout, { samples, shadow, isBroken, now, moves });
    }
    woken.clear();
  }
  throw new Error(`rollout ${name} did not end`);
}

async function reset(): Promise<void> {
  for (const name of names()) {
    const xr = await kube.get(type, { name });
    await writeRevision(xr, "f-1");
  }
}

async function writeRevision(xr: KubeObject, revision: string): Promise<void> {
  const synced = {
    type: "Synced",
    status: "True",
    reason: "ReconcileSuccess",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  };
  const crossplane = { functionRevisions: [{ step: "s", functionRevision: revision }] };
  await kube.update({ ...xr, status: { conditions: [synced], crossplane } }, { subresource: "status" });
}

async function reconcileComposite(
  { name }: ObjectKey,
  rollout: KubeObject,
  {
    samples,
    shadow,
    isBroken,
    now,
    moves,
  }: { samples: CallSamples; shadow: ShadowStore; isBroken: boolean; now: number; moves: Map<string, number> },
): Promise<void> {
  const xr = await kube.get(type, { name });
  const uid = xr.metadata.uid ?? "";
  const view = readRollout(rollout);
  const isOnCandidate = isMember(view, { uid, labels: {} });
  if (!isOnCandidate && bucketOf(view.uid, uid) < view.shadowThreshold) shadow.add(view.uid, sameAnswer(xr, now));
  const revision = isOnCandidate ? "f-2" : "f-1";
  const result = isOnCandidate && isBroken ? ("fatal" as const) : ("ok" as const);
  samples.record(revision, { at: now, result, ms: 0, functionName: "f", composite: uid });
  const status = xr["status"] as { crossplane: { functionRevisions: readonly { functionRevision: string }[] } };
  if (status.crossplane.functionRevisions[0]?.functionRevision === revision) return;
  moves.set(name, (moves.get(name) ?? 0) + 1);
  await writeRevision(xr, revision);
}

/** The report of a shadow run that found no difference. */
function sameAnswer({ apiVersion, kind, metadata }: KubeObject, now: number): Parameters<ShadowStore["add"]>[1] {
  const { name = "", uid = "" } = metadata;
  const at = new Date(now).toISOString();
  const composite = { apiVersion, kind, name, uid };
  return { composite, step: "s", class: "none", at, durationMs: 1, stableMs: 1, resources: [], differing: 0 };
}

const clean = ["RolloutStarted", "StepStarted", "WaitingForApproval", "StepStarted", "StepStarted", "RolloutSucceeded"];
/** Decisions that moved something or ended the rollout. */
const milestones = ({ status }: Finished): string[] =>
  status.history
    .map(({ decision }) => decision)
    .filter((one) => one !== "StepInProgress" && one !== "CandidateNotServing");

function assertClean(finished: Finished): void {
  assert.equal(finished.status.phase, "Succeeded");
  assert.deepEqual(milestones(finished), clean, "no gate is skipped and none is decided twice");
  assert.deepEqual(finished.status.approvedSteps, ["first"]);
  assert.deepEqual([...finished.moves.values()], Array(count).fill(1), "every composite resource moves once");
}

test("a rollout that is interrupted at any write ends as one that is not", async () => {
  const whole = await carryOut({ name: "whole" });
  assertClean(whole);
  const revision = await kube.get(functionRevision, { name: "f-2" });
  assert.equal(annotationOf(revision, "pkg.crossplane.io/withheld"), undefined, "the candidate is released");
  for (let atWrite = 1; atWrite <= whole.writes; atWrite++) {
    for (const mode of ["lost", "unanswered"] as const) {
      assertClean(await carryOut({ name: `at-${atWrite}-${mode}`, fault: { atWrite, mode } }));
    }
  }
});

test("a rollback that is interrupted at any write moves everything back", async () => {
  const whole = await carryOut({ name: "back", failsFrom: 2 });
  assert.equal(whole.status.phase, "RolledBack");
  for (let atWrite = 1; atWrite <= whole.writes; atWrite++) {
    const mode = atWrite % 2 === 0 ? "lost" : "unanswered";
    const finished = await carryOut({ name: `back-${atWrite}`, failsFrom: 2, fault: { atWrite, mode } });
    assert.equal(finished.status.phase, "RolledBack");
    assert.ok(
      [...finished.moves.values()].every((moved) => moved === 2),
      "there and back, once each",
    );
  }
});

test("two controllers at a time decide as one", async () => {
  assertClean(await carryOut({ name: "two", replicas: 2 }));
});

test("another process takes over at any turn and decides as one that stayed", async () => {
  const { turns } = await carryOut({ name: "stayed" });
  for (let handOverAt = 1; handOverAt <= turns; handOverAt++) {
    assertClean(await carryOut({ name: `over-${handOverAt}`, handOverAt }));
  }
});

const day = 24 * 60 * 60_000;
for (const [title, jumps] of Object.entries({
  forward: { 3: day },
  back: { 3: -day },
  "forward and back": { 2: day, 4: -day },
})) {
  test(`a wall clock that jumps ${title} does not change what a rollout decides`, async () => {
    assertClean(await carryOut({ name: `jumped-${title.replaceAll(" ", "-")}`, jumps }));
  });
}
