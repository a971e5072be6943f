// SPDX-License-Identifier: Apache-2.0
// The status of a revision's program, for every runtime.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReconcileResult } from "@purlin/kube-controller";
import { conflict } from "@purlin/kube-objects/errors";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { caughtUp, type PackageCluster, reconcileRuntime, startPackageCluster } from "../../test/package-cluster.ts";
import { conditionText } from "../../test/package-scene.ts";
import { packageTypes } from "../package-kinds.ts";
import type { PackageRuntime, RuntimePreparation, RuntimeReport } from "./package-runtime.ts";

const type = packageTypes.Function;
const name = "f-1";
const condition = (conditionType: string, status: string): object => ({
  type: conditionType,
  status,
  reason: "HealthyPackageRevision",
  lastTransitionTime: "2026-01-01T00:00:00Z",
});

interface Scene extends AsyncDisposable {
  readonly cluster: PackageCluster;
  /** What the runtime was asked to do. */
  readonly calls: string[];
  /** What it answers next; an error is thrown. */
  prepared: RuntimePreparation | Error;
  report: RuntimeReport | Error;
  pass(): Promise<ReconcileResult>;
  revision(): Promise<KubeObject>;
  health(): Promise<string>;
}

async function scene(spec: object = {}, status: object = {}): Promise<Scene> {
  const cluster = await startPackageCluster();
  const made = await cluster.kube.create({
    ...type.revision,
    metadata: { name, labels: { "pkg.crossplane.io/package": "f" }, finalizers: ["example.org/wait"] },
    spec: { desiredState: "Active", image: "registry.example.org/f:v1", revision: 1, ...spec },
  } as KubeObject);
  await cluster.kube.update({ ...made, status } as KubeObject, { subresource: "status" });
  const calls: string[] = [];
  const answer = <T>(value: T | Error): T => {
    if (value instanceof Error) throw value;
    return value;
  };
  const built: Scene = {
    cluster,
    calls,
    prepared: { tlsServerSecretName: "f-tls-server" },
    report: { isHealthy: true, endpoint: "dns:///f:9443" },
    pass: async () => {
      await caughtUp(cluster, [type.revision]);
      return reconcileRuntime(
        cluster.deps,
        { runtime, type },
        { key: { name }, stopping: new AbortController().signal },
      );
    },
    revision: () => cluster.kube.get(type.revision, { name }),
    health: async () => conditionText(await built.revision(), "RuntimeHealthy"),
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
  const runtime: PackageRuntime = {
    async prepare() {
      calls.push("prepare");
      return answer(built.prepared);
    },
    async run() {
      calls.push("run");
      return answer(built.report);
    },
    async retire() {
      // With what callers see at this moment.
      const seen = await built.revision().catch(() => undefined);
      calls.push(`retire ${(seen && textAt(seen, ["status", "endpoint"])) ?? ""}`.trim());
      return {};
    },
  };
  return built;
}

const installed = { conditions: [condition("RevisionHealthy", "True")] };

test("certificates come first; nothing runs before the revision is healthy", async () => {
  await using made = await scene();
  await made.pass();
  assert.deepEqual(made.calls, ["prepare"]);
  assert.equal(await made.health(), "False UnhealthyPackageRevision: Package revision is not healthy yet");
  const revision = await made.revision();
  assert.equal(textAt(revision, ["status", "tlsServerSecretName"]), "f-tls-server");
  assert.equal(textAt(revision, ["status", "endpoint"]), undefined);
});

test("a running program is reported with its endpoint once; a second reconcile writes nothing", async () => {
  await using made = await scene({}, installed);
  await made.pass();
  assert.deepEqual(made.calls, ["prepare", "run"]);
  assert.equal(await made.health(), "True HealthyPackageRevision");
  assert.equal(conditionText(await made.revision(), "RuntimeActive"), "True ActiveRuntime");
  assert.equal(textAt(await made.revision(), ["status", "endpoint"]), "dns:///f:9443");
  assert.deepEqual(made.cluster.takeEvents(), ["Normal SyncPackage: Successfully started package runtime"]);
  made.cluster.takeWrites();
  await made.pass();
  assert.deepEqual([made.cluster.takeWrites(), made.cluster.takeEvents()], [[], []]);
});

const reports: {
  why: string;
  report: RuntimeReport;
  before?: string;
  health: string;
  endpoint: string | undefined;
  events: string[];
  result?: object;
}[] = [
  {
    why: "one that starts says so",
    report: { isHealthy: false },
    health: "False UnhealthyPackageRevision: Package runtime is starting",
    endpoint: undefined,
    events: [],
  },
  {
    why: "one that is started again keeps its address: callers wait",
    report: { isHealthy: false, message: "the function is starting" },
    before: "dns:///old:1",
    health: "False UnhealthyPackageRevision: the function is starting",
    endpoint: "dns:///old:1",
    events: [],
  },
  {
    why: "a program that broke is reported in an event, too",
    report: { isHealthy: false, message: "it exited with code 3", isProblem: true },
    health: "False UnhealthyPackageRevision: it exited with code 3",
    endpoint: undefined,
    events: ["Warning SyncPackage: it exited with code 3"],
  },
  {
    why: "one that runs may have something to say",
    report: { isHealthy: true, endpoint: "dns:///new:1", message: "without a sandbox" },
    health: "True HealthyPackageRevision: without a sandbox",
    endpoint: "dns:///new:1",
    events: ["Normal SyncPackage: Successfully started package runtime"],
  },
  {
    why: "one that is to be looked at again is",
    report: { isHealthy: false, message: "unavailable", requeueAfterMs: 700 },
    health: "False UnhealthyPackageRevision: unavailable",
    endpoint: undefined,
    events: [],
    result: { requeueAfterMs: 700 },
  },
];
for (const { why, report, before, health, endpoint, events, result = {} } of reports) {
  test(`a program: ${why}`, async () => {
    await using made = await scene({}, { ...installed, ...(before && { endpoint: before }) });
    made.report = report;
    assert.deepEqual(await made.pass(), result);
    assert.equal(await made.health(), health);
    assert.equal(textAt(await made.revision(), ["status", "endpoint"]), endpoint);
    assert.deepEqual(made.cluster.takeEvents(), events);
  });
}

test("a failure is a condition and an event, and is retried; the rest of the status stays", async () => {
  await using made = await scene({}, { ...installed, endpoint: "dns:///old:1", tlsServerSecretName: "f-tls-server" });
  made.report = new Error("no such image");
  await assert.rejects(made.pass(), /^ReconcileError: cannot run package: no such image$/);
  assert.equal(await made.health(), "False UnhealthyPackageRevision: cannot run package: no such image");
  assert.equal(textAt(await made.revision(), ["status", "endpoint"]), "dns:///old:1");
  assert.deepEqual(made.cluster.takeEvents(), ["Warning SyncPackage: cannot run package: no such image"]);
  made.prepared = new Error("no certificate");
  await assert.rejects(made.pass(), /cannot prepare package runtime: no certificate/);
});

test("a conflict is not reported", async () => {
  await using made = await scene({}, installed);
  made.report = conflict({ group: "apps", resource: "deployments" }, "f-1", "it changed");
  await assert.rejects(made.pass());
  assert.deepEqual([await made.health(), made.cluster.takeEvents()], ["Unknown", []]);
});

test("no caller is sent to a revision that stops, and it claims no health: its status changes before its program ends", async () => {
  const runs = [condition("RuntimeHealthy", "True"), condition("RuntimeActive", "True")];
  const conditions = [...installed.conditions, ...runs];
  await using made = await scene({ desiredState: "Inactive" }, { conditions, endpoint: "dns:///f:9443" });
  await made.pass();
  assert.deepEqual(made.calls, ["retire"], "no caller is sent there");
  assert.equal(textAt(await made.revision(), ["status", "endpoint"]), undefined);
  assert.equal(await made.health(), "Unknown InactivePackageRevision: Package revision is inactive");
  assert.equal(conditionText(await made.revision(), "RuntimeActive"), "Unknown");
  assert.equal(
    conditionText(await made.revision(), "RevisionHealthy"),
    "True HealthyPackageRevision",
    "the rest stays",
  );
  made.cluster.takeWrites();
  await made.pass();
  assert.deepEqual(made.cluster.takeWrites(), [], "it is written once");
});

test("one that is deleted, or gone, is retired; a paused one is left alone", async () => {
  await using deleted = await scene({}, installed);
  await deleted.cluster.kube.delete({ ...type.revision, name });
  await deleted.pass();
  assert.deepEqual(deleted.calls, ["retire"]);
  const free = { metadata: { finalizers: null } };
  await deleted.cluster.kube.patch({ ...type.revision, name }, free, { type: "merge" });
  await deleted.pass();
  assert.deepEqual(deleted.calls, ["retire", "retire"]);
  await using paused = await scene({}, installed);
  const pause = { metadata: { annotations: { "crossplane.io/paused": "true" } } };
  await paused.cluster.kube.patch({ ...type.revision, name }, pause, { type: "merge" });
  await paused.pass();
  assert.deepEqual(paused.calls, []);
});

test("one without a state runs nothing, and is as healthy as what it installed", async () => {
  await using fresh = await scene({ desiredState: "" });
  await fresh.pass();
  assert.equal(await fresh.health(), "False UnhealthyPackageRevision: Package revision is not healthy yet");
  await using made = await scene({ desiredState: "" }, installed);
  await made.pass();
  assert.equal(await made.health(), "True HealthyPackageRevision");
  assert.deepEqual(made.calls, ["retire"]);
  assert.deepEqual(made.cluster.takeEvents(), [], "nothing was started");
});
