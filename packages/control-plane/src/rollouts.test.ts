// SPDX-License-Identifier: Apache-2.0
// Rollouts over 200 composite resources: real API server, real controllers, functions called over gRPC with mutual TLS.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { tlsFromDirectory } from "@purlin/function-runner";
import { nopLogger, type RunningFunction, request, response, start } from "@purlin/function-sdk";
import { eventually } from "@purlin/kube-controller/testing";
import { annotationOf, type KubeObject } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import {
  app,
  appDefinition,
  type EmbeddedApi,
  functionAt,
  startEmbeddedApi,
  testCertificates,
} from "../test/embedded-api.ts";
import { startControlPlane } from "./start-control-plane.ts";

const namespace = "default";
const count = 200;
const rolloutType = { apiVersion: "pkg.crossplane.io/v1alpha1", kind: "FunctionRollout" };
const revisionType = { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision" };

type Behavior = "ok" | "fatal" | "hang" | "slow" | "drops gold";

interface Served {
  readonly number: number;
  behavior: Behavior;
  readonly server: RunningFunction;
}

const closing = new AsyncDisposableStack();
const registry = new Registry();
/** The calls in order: composite resource, step and revision. */
const calls: { readonly composite: string; readonly step: string; readonly revision: number }[] = [];
let api: EmbeddedApi;
let certificates: string;

before(async () => {
  api = closing.use(await startEmbeddedApi());
  const certs = closing.use(testCertificates());
  certificates = certs.directory;
  const settings = { functionRevisionSelectors: true, functionRollouts: true, compositeDeadlineMs: 8000 };
  const plane = closing.use(
    startControlPlane({
      client: api.connect(),
      functions: { security: tlsFromDirectory(certificates) },
      settings,
      registry,
    }),
  );
  await plane.ready;
  const steps = ["one", "two"].map((step) => ({ step, functionRef: { name: "fn" }, input: input(step) }));
  await applyAll([
    { ...functionAt(""), metadata: { name: "fn" } },
    appDefinition,
    {
      apiVersion: "apiextensions.crossplane.io/v1",
      kind: "Composition",
      metadata: { name: "apps" },
      spec: { compositeTypeRef: app, mode: "Pipeline", pipeline: steps },
    },
  ]);
  await serve(1);
  const names = Array.from({ length: count }, (_, index) => `app-${index}`);
  await Promise.all(names.map((name) => applyAll([appOf(name)])));
  await allOn(1);
});

/** Ends the calls of functions that hang. */
const released = Promise.withResolvers<void>();

after(async () => {
  released.resolve();
  await closing.disposeAsync();
});

const isGold = (name: string): boolean => name.endsWith("7");

function appOf(name: string, spec: object = {}): KubeObject {
  const labels = isGold(name) ? { tier: "gold" } : {};
  return { ...app, metadata: { name, namespace, labels }, spec } as KubeObject;
}

function input(step: string) {
  return { apiVersion: "example.org/v1", kind: "Input", step };
}

/** Serves a revision of the function, and publishes it as a runtime would. */
async function serve(number: number, behavior: Behavior = "ok"): Promise<Served> {
  const state: { behavior: Behavior } = { behavior };
  const server = closing.use(
    await start(
      async (req) => {
        const composite = request.getObservedCompositeResource(req).resource.getString("metadata.name");
        const step = String((request.getInput(req) as { step?: string } | undefined)?.step ?? "");
        calls.push({ composite, step, revision: number });
        const rsp = response.to(req);
        if (state.behavior === "fatal") response.fatal(rsp, "broken on purpose");
        if (state.behavior === "hang") await released.promise;
        if (state.behavior === "slow") await delay(2500);
        const hasBackup = isGold(composite) || composite.endsWith("8");
        if (hasBackup && !(state.behavior === "drops gold" && isGold(composite))) {
          const backup = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: `${composite}-backup` } };
          response.setDesiredComposedResource(rsp, "backup", backup, { ready: true });
        }
        response.setDesiredCompositeStatus(rsp, { seen: `v${number}` });
        return rsp;
      },
      { address: "127.0.0.1:0", tlsCertsDir: certificates, metricsAddress: "", log: nopLogger },
    ),
  );
  await create(number);
  await publish(number, `localhost:${server.address.split(":").at(-1)}`);
  return Object.assign(state, { number, server });
}

async function create(number: number): Promise<void> {
  const labels = { "pkg.crossplane.io/package": "fn" };
  // Withheld from the start, as the package manager does it for a Function with a rolloutPolicy.
  const annotations = number === 1 ? {} : { "pkg.crossplane.io/withheld": "rollout-policy" };
  await applyAll([
    {
      ...revisionType,
      metadata: { name: `fn-${number}`, labels, annotations },
      spec: { desiredState: "Active", image: `example.org/fn:v${number}`, revision: number },
    },
  ]);
}

async function publish(number: number, endpoint: string): Promise<void> {
  const found = await api.users.get(revisionType, { name: `fn-${number}` });
  const healthy = { status: "True", reason: "HealthyPackageRevision", lastTransitionTime: "2026-01-01T00:00:00Z" };
  const conditions = [
    { type: "RevisionHealthy", ...healthy },
    { type: "RuntimeHealthy", ...healthy },
  ];
  const status = { endpoint, capabilities: ["composition"], conditions };
  await api.users.update({ ...found, status }, { subresource: "status" });
}

async function applyAll(objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) {
    await eventually(`${object.kind} is taken`, () => api.users.apply(object, { fieldManager: "test", force: true }));
  }
}

const seenOf = (xr: KubeObject): string => (xr["status"] as { seen?: string } | undefined)?.seen ?? "";

async function composites(): Promise<readonly KubeObject[]> {
  // All of them, again and again: the functions and controllers share this thread.
  await delay(30);
  return (await api.users.list(app, { namespace })).items;
}

async function allOn(number: number): Promise<void> {
  await eventually(`all are on v${number}`, async () =>
    (await composites()).every((xr) => seenOf(xr) === `v${number}`),
  );
}

type Status = {
  readonly phase: string;
  readonly currentStep: number;
  readonly stableRevision?: string;
  readonly candidateRevision?: string;
  readonly composites: { readonly total: number; readonly candidate: number; readonly moved: number };
  readonly conditions: readonly {
    readonly type: string;
    readonly status: string;
    readonly reason: string;
    readonly message: string;
  }[];
  readonly history: readonly {
    readonly decision: string;
    readonly message: string;
    readonly composites: { readonly candidate: number };
  }[];
  readonly pauseToken?: string;
};

async function rollOut(name: string, spec: object): Promise<void> {
  await applyAll([
    { ...rolloutType, metadata: { name }, spec: { functionRef: { name: "fn" }, ...spec } } as KubeObject,
  ]);
}

const statusOf = async (name: string): Promise<Status | undefined> =>
  (await api.users.get(rolloutType, { name }))["status"] as Status | undefined;

function reaches(name: string, phase: string): Promise<Status> {
  return eventually(`rollout ${name} is ${phase}`, async () => {
    const status = await statusOf(name);
    return status?.phase === phase && status;
  });
}

const condition = (status: Status, type: string) => status.conditions.find((one) => one.type === type);

/** No composite resource may be served by two revisions within one reconcile: its two steps come from one revision. */
function assertOneRevisionPerReconcile(): void {
  const open = new Map<string, number>();
  for (const { composite, step, revision } of calls) {
    if (step === "one") open.set(composite, revision);
    else assert.equal(revision, open.get(composite), `${composite} was served by two revisions in one reconcile`);
  }
}

const threeSteps = [{ percent: 5 }, { percent: 30 }, { percent: 100 }];

test("a clean revision reaches all composite resources in growing waves, and no reconcile fails", async () => {
  await serve(2);
  const moved = new Set<string>();
  const violations: string[] = [];
  await rollOut("clean", { steps: threeSteps });
  const status = await eventually("the rollout succeeds", async () => {
    for (const xr of await composites()) {
      const name = xr.metadata.name ?? "";
      if (seenOf(xr) === "v2") moved.add(name);
      else assert.ok(!moved.has(name), `${name} went back to ${seenOf(xr)}`);
      const synced = (xr["status"] as Status).conditions.find(({ type }) => type === "Synced");
      assert.equal(synced?.status, "True");
    }
    const now = await statusOf("clean");
    return now?.phase === "Succeeded" && now;
  });
  assert.deepEqual(violations, []);
  await allOn(2);
  assert.equal(status.stableRevision, "fn-1");
  assert.equal(status.candidateRevision, "fn-2");
  assert.deepEqual(status.composites, { ...status.composites, total: count, candidate: count, moved: count });
  const waves = status.history.filter(({ decision }) => decision === "StepStarted" || decision === "RolloutStarted");
  assert.equal(waves.length, 3);
  assert.equal(condition(status, "Ready")?.status, "True");
  assert.equal(condition(status, "Reconciling")?.status, "False");
  assert.match(condition(status, "GatesPassed")?.message ?? "", /FunctionErrors: candidate 0\.0 % \(0 of \d+\)/);
  assertOneRevisionPerReconcile();
  const revision = await api.users.get(revisionType, { name: "fn-2" });
  await eventually("the candidate is no longer withheld", async () => {
    const found = await api.users.get(revisionType, { name: "fn-2" });
    return annotationOf(found, "pkg.crossplane.io/withheld") === undefined;
  });
  assert.equal(revision.metadata.name, "fn-2");
  const metrics = await registry.metrics();
  assert.match(metrics, /purlin_rollout_decisions_total\{rollout="clean",decision="RolloutSucceeded"\} 1/);
});

test("a fault at the second wave moves everything back, and the rollout says why with numbers", async () => {
  const third = await serve(3);
  await rollOut("faulty", { steps: [{ percent: 2 }, { percent: 10, minDuration: "10m" }, { percent: 100 }] });
  await eventually("the second wave has moved", async () => {
    const status = await statusOf("faulty");
    return status?.currentStep === 1 && status.composites.moved === status.composites.candidate;
  });
  third.behavior = "fatal";
  // Something changes in the composite resources that moved.
  for (const xr of (await composites()).filter((one) => seenOf(one) === "v3")) {
    await applyAll([appOf(xr.metadata.name ?? "", { text: "changed" })]);
  }
  const status = await reaches("faulty", "RolledBack");
  await allOn(2);
  const why = condition(status, "RolledBack");
  assert.equal(why?.status, "True");
  assert.equal(why?.reason, "GateFailed");
  assert.match(
    why?.message ?? "",
    /gate FunctionErrors: candidate \d+\.\d % \(\d+ of \d+\), stable \d+\.\d % \(\d+ of \d+\), allowed 1 %/,
  );
  assert.match(why?.message ?? "", /of 200 composite resources were on the candidate/);
  assert.equal(condition(status, "Stalled")?.status, "True");
  assert.equal(status.composites.moved, 0);
  assertOneRevisionPerReconcile();
  await eventually("the Function has a warning", async () => {
    const events = (await api.users.list({ apiVersion: "v1", kind: "Event" })).items;
    return events.some((event) => {
      const { involvedObject, message } = event as unknown as { involvedObject: { kind: string }; message: string };
      return involvedObject.kind === "Function" && message.includes('FunctionRollout "faulty"');
    });
  });
});

test("a revision that never starts moves nothing, and ends at the deadline", async () => {
  await create(4);
  await rollOut("absent", { steps: threeSteps, progressDeadline: "2s" });
  const status = await reaches("absent", "RolledBack");
  assert.equal(condition(status, "RolledBack")?.reason, "ProgressDeadlineExceeded");
  assert.match(condition(status, "RolledBack")?.message ?? "", /FunctionRevision "fn-4" does not serve yet/);
  await allOn(2);
  assert.ok(calls.every(({ revision }) => revision !== 4));
});

test("a revision that hangs, and one that is killed, are rolled back", async () => {
  await serve(5, "hang");
  await rollOut("hanging", { steps: [{ percent: 1 }, { percent: 100 }] });
  assert.equal(condition(await reaches("hanging", "RolledBack"), "RolledBack")?.reason, "GateFailed");
  const killed = await serve(6);
  await rollOut("killed", { steps: [{ percent: 3, minDuration: "10m" }, { percent: 100 }] });
  await eventually("the first wave has moved", async () => {
    const status = await statusOf("killed");
    return status?.phase === "Progressing" && status.composites.moved > 0;
  });
  await killed.server.stop();
  for (const xr of (await composites()).filter((one) => seenOf(one) === "v6")) {
    await applyAll([appOf(xr.metadata.name ?? "", { text: "again" })]);
  }
  assert.equal(condition(await reaches("killed", "RolledBack"), "RolledBack")?.reason, "GateFailed");
  await allOn(2);
});

test("a slow revision stops the rollout under the policy Pause; a person resumes or aborts it", async () => {
  const slow = await serve(7, "slow");
  const healthGates = [{ type: "CallDuration", p95: "1500ms", minSample: 2 }];
  await rollOut("slow", {
    steps: [{ percent: 1 }, { percent: 100, minDuration: "10m" }],
    failurePolicy: "Pause",
    healthGates,
  });
  const paused = await reaches("slow", "Paused");
  assert.match(condition(paused, "Stalled")?.message ?? "", /gate CallDuration: p95 candidate \d+/);
  assert.ok(paused.composites.candidate > 0 && paused.composites.candidate < 20);
  slow.behavior = "ok";
  await annotate("slow", { "pkg.crossplane.io/rollout-resume": paused.pauseToken ?? "" });
  await eventually("the next step begins", async () => (await statusOf("slow"))?.currentStep === 1);
  await annotate("slow", { "pkg.crossplane.io/rollout-abort": "true" });
  assert.equal(condition(await reaches("slow", "RolledBack"), "RolledBack")?.reason, "Aborted");
  await allOn(2);
});

async function annotate(name: string, annotations: Record<string, string>): Promise<void> {
  await api.users.patch({ ...rolloutType, name }, { metadata: { annotations } }, { type: "merge" });
}

test("a revision that would delete something is stopped in shadow; the report names exactly those that would lose it", async () => {
  await serve(8, "drops gold");
  const before = api.writes.length;
  await rollOut("deleting", { steps: [{ shadow: true }, { percent: 100 }] });
  const status = await reaches("deleting", "RolledBack");
  assert.equal(condition(status, "RolledBack")?.reason, "GateFailed");
  assert.match(condition(status, "RolledBack")?.message ?? "", /gate DesiredDiff: 200 compared: 20 delete/);
  assert.match(condition(status, "RolledBack")?.message ?? "", /0 of 200 composite resources were on the candidate/);
  const { shadow } = status as unknown as { shadow: { composites: readonly { name: string; class: string }[] } };
  const losing = shadow.composites.filter((one) => one.class === "delete").map(({ name }) => name);
  const gold = (await composites()).map(({ metadata }) => metadata.name ?? "").filter(isGold);
  assert.deepEqual(losing.toSorted(), gold.toSorted());
  const composed = api.writes.slice(before).filter((one) => one.includes("/configmaps"));
  assert.deepEqual(composed, [], "no composed resource is written");
  await allOn(2);
});

test("a revision that passes in shadow and fails live is rolled back, or paused, as the policy says", async () => {
  const ninth = await serve(9);
  const steps = [{ shadow: true, approval: "Manual" }, { percent: 2, minDuration: "10m" }, { percent: 100 }];
  for (const [failurePolicy, phase] of [
    ["Pause", "Paused"],
    ["Rollback", "RolledBack"],
  ] as const) {
    const name = `live-${failurePolicy.toLowerCase()}`;
    ninth.behavior = "ok";
    const candidate = { functionRevisionRef: { name: "fn-9" } };
    await rollOut(name, { steps, failurePolicy, candidate });
    await eventually("the shadow step waits for its approval", async () => {
      return (await statusOf(name))?.history.some(({ decision }) => decision === "WaitingForApproval");
    });
    ninth.behavior = "fatal";
    await annotate(name, { "pkg.crossplane.io/rollout-approve": "step-1" });
    const status = await reaches(name, phase);
    const why = condition(status, "Stalled");
    assert.equal(why?.reason, "GateFailed");
    assert.match(why?.message ?? "", /gate FunctionErrors: candidate \d+\.\d % \(\d+ of \d+\)/);
    if (failurePolicy === "Rollback") continue;
    assert.ok(status.composites.candidate > 0 && status.composites.candidate < 20, "those that moved stay");
    await annotate(name, { "pkg.crossplane.io/rollout-abort": "true" });
    await reaches(name, "RolledBack");
  }
  await allOn(2);
});
