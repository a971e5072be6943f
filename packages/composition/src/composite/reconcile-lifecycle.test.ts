// SPDX-License-Identifier: Apache-2.0
// The life of an XR apart from composing: absence, pause, requests, deletion, conflicts.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { after, before, beforeEach, test } from "node:test";
import { conflict, forbidden, internalError, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { keyOf } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { type ClientCall, type Intercept, intercepted } from "../../test/test-doubles.ts";
import { finalizers } from "../composite-resource/constants.ts";
import { createReconcile } from "./reconciler.ts";

let cluster: TestCluster;
let bench: CompositeBench;
let intercept: Intercept;
let number = 0;

before(async () => {
  cluster = await startTestCluster();
  const xrd = await cluster.define(cacheDefinition("Cluster"));
  const client = intercepted(cluster.client, (call) => intercept(call));
  bench = createCompositeBench(cluster, xrd, { client });
  await bench.compositionOf("maps", ["compose"]);
});
after(() => cluster[Symbol.asyncDispose]());
beforeEach(() => {
  intercept = () => {};
  bench.functions.set("compose", {
    resources: { a: configMap({ x: "1" }, { namespace: "default" }) },
    ready: ["a"],
  });
  bench.takeEvents();
});

const paused = { annotations: { "crossplane.io/paused": "true" } };
const caches = { group: "platform.example.org", resource: "caches" };

async function freshXr(metadata = {}): Promise<string> {
  const name = `xr${number++}`;
  await bench.xr(name, {}, metadata);
  return name;
}

test("an XR that is gone is nothing to do, and its dependencies are forgotten", async () => {
  const name = await freshXr();
  await bench.reconcile(name);
  const maps = await cluster.kube.list({ apiVersion: "v1", kind: "ConfigMap" }, { namespace: "default" });
  const cd = maps.items.find(({ metadata }) => metadata.name?.startsWith(`${name}-`));
  assert.ok(cd);
  assert.equal([...bench.state.tracker.dependents(cd)].length, 1);
  await cluster.kube.patch({ ...bench.kind.type, name }, { metadata: { finalizers: null } }, { type: "merge" });
  await cluster.kube.delete({ ...bench.kind.type, name });
  assert.deepEqual(await bench.reconcile(name), {});
  assert.equal([...bench.state.tracker.dependents(cd)].length, 0);
  assert.deepEqual(await bench.reconcile("absent"), {});
});

test("an XR that cannot be read is an error, and nothing is written", async () => {
  const name = await freshXr();
  const boom = internalError("boom");
  intercept = ({ method, kind }) => {
    if (method === "get" && kind === "Cache") throw boom;
  };
  cluster.takeWrites();
  await assert.rejects(bench.reconcile(name), { message: `cannot get composite resource: ${boom.message}` });
  assert.deepEqual([cluster.takeWrites(), bench.takeEvents()], [[], []]);
});

test("a paused XR says so, and is left alone", async () => {
  const name = await freshXr(paused);
  assert.deepEqual(await bench.reconcile(name), {});
  const { status, reason, message } = await bench.condition(name, "Synced");
  assert.deepEqual([status, reason], ["False", "ReconcilePaused"]);
  assert.equal(message, "Reconciliation (including deletion) is paused via the pause annotation");
  assert.deepEqual(bench.takeEvents(), [
    `Cache/${name} Normal ReconciliationPaused: Reconciliation is paused via the pause annotation`,
  ]);
  assert.equal((await bench.read(name)).metadata.finalizers, undefined);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), []);
});

for (const value of ["True", "1", ""]) {
  test(`the annotation ${JSON.stringify(value)} does not pause`, async () => {
    const name = await freshXr({ annotations: { "crossplane.io/paused": value } });
    await bench.reconcile(name);
    assert.equal((await bench.condition(name, "Synced")).reason, "ReconcileSuccess");
  });
}

test("a paused XR keeps its finalizer when it is deleted", async () => {
  const name = await freshXr({ ...paused, finalizers: [finalizers.composite] });
  await cluster.kube.delete({ ...bench.kind.type, name });
  await bench.reconcile(name);
  assert.deepEqual((await bench.read(name)).metadata.finalizers, [finalizers.composite]);
  assert.equal((await bench.condition(name, "Synced")).reason, "ReconcilePaused");
});

test("a finalizer that cannot be removed is reported", async () => {
  const name = await freshXr({ finalizers: [finalizers.composite] });
  await cluster.kube.delete({ ...bench.kind.type, name });
  intercept = ({ method, subresource }) => {
    if (method === "update" && subresource === "") throw forbidden(caches, name, "no");
  };
  await assert.rejects(bench.reconcile(name));
  const synced = await bench.condition(name, "Synced");
  assert.equal(synced.reason, "ReconcileError");
  assert.match(synced.message ?? "", /^cannot remove composite resource finalizer: .*forbidden/);
  assert.equal((await bench.condition(name, "Ready")).reason, "Deleting");
  assert.match(
    bench.takeEvents().join(),
    /Warning DeleteCompositeResource: cannot remove composite resource finalizer: /,
  );
});

test("a deleted XR loses its finalizer, and no composed resource is deleted", async () => {
  const name = await freshXr();
  await bench.reconcile(name);
  await cluster.kube.delete({ ...bench.kind.type, name });
  cluster.takeWrites();
  assert.deepEqual(await bench.reconcile(name), {});
  assert.deepEqual(cluster.takeWrites(), [`PUT /apis/platform.example.org/v1/caches/${name}`]);
  await assert.rejects(bench.read(name), isNotFound);
});

test("an XR with other finalizers reports its deletion once, and its composed resources start no reconcile", async () => {
  const name = await freshXr({ finalizers: ["example.org/mine", finalizers.composite] });
  await bench.reconcile(name);
  assert.notDeepEqual(bench.state.tracker.typesOf({ name }), []);
  await cluster.kube.delete({ ...bench.kind.type, name });
  await bench.reconcile(name);
  assert.deepEqual(bench.state.tracker.typesOf({ name }), []);
  const { status, reason } = await bench.condition(name, "Ready");
  assert.deepEqual([status, reason], ["False", "Deleting"]);
  assert.equal((await bench.condition(name, "Synced")).reason, "ReconcileSuccess");
  assert.deepEqual((await bench.read(name)).metadata.finalizers, ["example.org/mine"]);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("a finalizer that cannot be added is reported, and nothing is composed", async () => {
  const name = await freshXr();
  intercept = ({ method, subresource }) => {
    if (method === "update" && subresource === "") throw forbidden(caches, name, "no");
  };
  const calls = bench.functions.calls.length;
  await assert.rejects(bench.reconcile(name));
  assert.match((await bench.condition(name, "Synced")).message ?? "", /^cannot add composite resource finalizer: /);
  assert.match(
    bench.takeEvents().join(),
    /Warning InitializeCompositeResource: cannot add composite resource finalizer: /,
  );
  assert.equal(bench.functions.calls.length, calls);
});

const conflicts: Readonly<Record<string, (call: ClientCall) => boolean>> = {
  "the first update": ({ method, subresource }) => method === "update" && subresource === "",
  "storing references": ({ method, kind, subresource }) => method === "apply" && kind === "Cache" && subresource === "",
  "applying a resource": ({ method, kind }) => method === "apply" && kind === "ConfigMap",
  "the status": ({ method, subresource }) => method === "apply" && subresource === "status",
};

for (const [what, hits] of Object.entries(conflicts)) {
  test(`a conflict at ${what} is silent`, async () => {
    const name = await freshXr();
    intercept = (call) => {
      if (hits(call)) throw conflict(caches, name, "modified");
    };
    await assert.rejects(bench.reconcile(name), isConflict);
    assert.deepEqual(
      bench.takeEvents().filter((line) => line.includes("Warning")),
      [],
    );
    assert.equal((await bench.condition(name, "Synced")).status, "Unknown");
    intercept = () => {};
    await bench.reconcile(name);
    assert.equal((await bench.condition(name, "Ready")).status, "True");
  });
}

test("a reconcile request of a paused XR is handled when it resumes", async () => {
  const paused = { "crossplane.io/paused": "true", "crossplane.io/reconcile-requested-at": "t1" };
  const name = await freshXr({ annotations: paused });
  await bench.reconcile(name);
  const handled = `Cache/${name} Normal ReconcileRequestHandled: Handling reconcile request`;
  assert.ok(!bench.takeEvents().includes(handled));
  const annotations = { "crossplane.io/paused": null };
  await cluster.kube.patch({ ...bench.kind.type, name }, { metadata: { annotations } }, { type: "merge" });
  await bench.reconcile(name);
  assert.equal(bench.takeEvents()[0], handled);
});

test("a new token is answered once, and an old one not at all", async () => {
  const name = await freshXr({ annotations: { "crossplane.io/reconcile-requested-at": "t1" } });
  await bench.reconcile(name);
  const handled = `Cache/${name} Normal ReconcileRequestHandled: Handling reconcile request`;
  assert.equal(bench.takeEvents()[0], handled);
  assert.equal(
    ((await bench.read(name))["status"] as { lastHandledReconcileAt?: string }).lastHandledReconcileAt,
    "t1",
  );
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual([bench.takeEvents(), cluster.takeWrites()], [[], []]);
  const annotations = { "crossplane.io/reconcile-requested-at": "t2" };
  await cluster.kube.patch({ ...bench.kind.type, name }, { metadata: { annotations } }, { type: "merge" });
  await bench.reconcile(name);
  assert.deepEqual(bench.takeEvents(), [handled]);
  assert.equal(
    ((await bench.read(name))["status"] as { lastHandledReconcileAt?: string }).lastHandledReconcileAt,
    "t2",
  );
});

test("a status that stays the same is not written", async () => {
  const name = await freshXr();
  await bench.reconcile(name);
  cluster.takeWrites();
  await bench.reconcile(name);
  assert.deepEqual(cluster.takeWrites(), []);
});

test("an open circuit is reported, and the XR is reconciled all the same", async () => {
  const name = await freshXr();
  await bench.reconcile(name);
  const { status, reason } = await bench.condition(name, "Responsive");
  assert.deepEqual([status, reason], ["True", "WatchCircuitClosed"]);
  const noisy = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "noisy", namespace: "ns" } };
  for (let i = 0; i < 51; i++) bench.state.breaker.admit({ name }, noisy, 2);
  const calls = bench.functions.calls.length;
  await bench.reconcile(name);
  const open = await bench.condition(name, "Responsive");
  assert.deepEqual([open.status, open.reason], ["False", "WatchCircuitOpen"]);
  assert.equal(open.message, "Too many watch events from ConfigMap/noisy (ns). Allowing events periodically.");
  assert.equal(bench.functions.calls.length, calls + 1);
});

test("the status of a pass stamps every condition of ours with the generation it ended with", async () => {
  const name = await freshXr();
  await bench.reconcile(name);
  const xr = await bench.read(name);
  for (const type of ["Synced", "Ready", "Responsive"]) {
    assert.equal((await bench.condition(keyOf(xr), type)).observedGeneration, xr.metadata.generation, type);
  }
});

test("what is edited while functions run is not said to have been observed; the next pass observes it", async () => {
  const name = await freshXr();
  const before = await bench.read(name);
  intercept = async ({ method, kind, subresource }) => {
    if (method !== "apply" || kind !== "Cache" || subresource !== "") return;
    intercept = () => {};
    await cluster.kube.patch({ ...bench.kind.type, name }, { spec: { image: "other" } }, { type: "merge" });
  };
  await bench.reconcile(name);
  const edited = await bench.read(name);
  const { observedGeneration = 0 } = await bench.condition(name, "Synced");
  assert.ok(observedGeneration >= (before.metadata.generation ?? 0));
  assert.ok(observedGeneration < (edited.metadata.generation ?? 0), `${observedGeneration} was not seen`);
  await bench.reconcile(name);
  const seen = await bench.read(name);
  assert.equal((await bench.condition(name, "Synced")).observedGeneration, seen.metadata.generation);
});

test("an XR that is deleted while it is composed is not made again", async () => {
  const name = await freshXr();
  const bare = { metadata: { finalizers: null } };
  intercept = async ({ method, kind, subresource }) => {
    if (method !== "apply" || kind !== "Cache" || subresource !== "") return;
    intercept = () => {};
    await cluster.kube.patch({ ...bench.kind.type, name }, bare, { type: "merge" });
    await cluster.kube.delete({ ...bench.kind.type, name });
  };
  await assert.rejects(bench.reconcile(name));
  await assert.rejects(bench.read(name), isNotFound);
  assert.deepEqual(await bench.reconcile(name), {});
});

test("passes leave nothing behind in the signal of their controller", async () => {
  const name = await freshXr();
  const stopping = new AbortController();
  const reconcile = createReconcile(bench.deps, bench.state);
  for (let pass = 0; pass < 20; pass++) await reconcile({ name }, stopping.signal);
  assert.equal(getEventListeners(stopping.signal, "abort").length, 0);
});
