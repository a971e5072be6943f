// SPDX-License-Identifier: Apache-2.0
// The controller as it runs: started by an engine, woken by what happens on a real API server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { create, ResourceSelector } from "@purlin/function-protocol";
import { createResourceFetcher, noSchemas } from "@purlin/function-runner";
import {
  type ControllerEngine,
  crdType,
  createControllerEngine,
  createCrd,
  installCrds,
  noEvents,
} from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { conditionOf, conditionsOf, type KubeObject, keyOf, type TypeRef } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import { type CompositeBench, configMap, createCompositeBench, makeRevision } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { autoReady, createTestFunctions, type TestFunctions } from "../../test/test-doubles.ts";
import { resourceRefsOf, revisionRefOf } from "../composite-resource/crossplane-fields.ts";
import { controllerName } from "./composite-state.ts";
import { clientReader } from "./observe/observe.ts";
import { createCompositeController } from "./reconciler.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
let cluster: TestCluster;
let bench: CompositeBench;
let engine: ControllerEngine;
let functions: TestFunctions;
let name: string;
const registry = new Registry();

before(async () => {
  cluster = await startTestCluster();
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Namespaced")));
  engine = createControllerEngine({ informers: cluster.informers, registry });
  const fetchers = { resources: createResourceFetcher(clientReader(cluster.client)), schema: noSchemas };
  functions = createTestFunctions(fetchers);
  const { reconcile, watches } = createCompositeController({
    kind: bench.kind,
    client: cluster.client,
    events: noEvents,
    engine,
    runStep: functions.runStep,
    fetchers,
    clock: systemClock,
    log: silentLog,
  });
  name = controllerName(bench.kind.definition);
  engine.start({ name, reconcile, backoff: { baseMs: 20, maxMs: 100 } });
  await engine.startWatches(name, watches);
  functions.set("compose", { resources: { a: configMap({ x: "1" }), b: configMap({ x: "2" }) } });
  functions.set("ready", autoReady);
  await bench.compositionOf("c", ["compose", "ready"]);
  functions.set("compose-one", { resources: { a: configMap({ x: "1" }) } });
  await bench.compositionOf("one-map", ["compose-one", "ready"]);
});
after(async () => {
  await engine.close();
  await cluster[Symbol.asyncDispose]();
});

const key = (xr: string): { namespace: string; name: string } => ({ namespace: "default", name: xr });
const make = (xr: string, composition = "c"): Promise<KubeObject> =>
  bench.xr(xr, { crossplane: { compositionRef: { name: composition } } }, { namespace: "default" });
const is = async (xr: string, type: string, status: string): Promise<boolean> =>
  conditionOf(conditionsOf(await bench.read(key(xr))), type).status === status;
const calls = (): number => functions.calls.length;

/** Whether an object is waiting for a pass, or in one. */
async function isAtWork(): Promise<boolean> {
  const metrics = ["controller_runtime_active_workers", "workqueue_depth"].map((one) => registry.getSingleMetric(one));
  const values = await Promise.all(metrics.map(async (metric) => (await metric?.get())?.values ?? []));
  return values.flat().some(({ value }) => value > 0);
}

/** Whether news of everything that is stored has come. */
async function hasHeard(type: TypeRef): Promise<boolean> {
  const { items } = await cluster.kube.list(type, { namespace: "default" });
  const informer = cluster.informers.peek(type);
  const versionOf = (object: KubeObject | undefined): string | undefined => object?.metadata.resourceVersion;
  return items.every((object) => versionOf(informer?.get(keyOf(object))) === versionOf(object));
}

/** Waits until the controller has received all writes and its queue is empty. */
async function calm(): Promise<void> {
  await eventually("the controller rests", async () => {
    const before = calls();
    if (await isAtWork()) return false;
    if (!(await hasHeard(maps)) || !(await hasHeard(bench.kind.type))) return false;
    return !(await isAtWork()) && calls() === before;
  });
}

test("a new XR becomes ready in two reconciles, and its own status writes start none", async () => {
  const before = calls();
  await make("one", "one-map");
  await eventually("the XR is ready", () => is("one", "Ready", "True"));
  await calm();
  assert.equal(calls() - before, 4, "two passes of two functions: the second when its ConfigMap is there");
});

test("what happens to a composed resource wakes its XR, and no other", async () => {
  await make("two");
  await eventually("the XR is ready", () => is("two", "Ready", "True"));
  await calm();
  const [ref] = resourceRefsOf(await bench.read(key("two")), "modern");
  const before = functions.calls.length;
  await cluster.kube.patch({ ...maps, ...key(ref?.name ?? "") }, { data: { x: "tampered" } }, { type: "merge" });
  await eventually("the edit is undone", async () => {
    const { data } = (await cluster.kube.get(maps, key(ref?.name ?? ""))) as unknown as { data: { x: string } };
    return data.x !== "tampered";
  });
  await calm();
  const woken = functions.calls
    .slice(before)
    .map(({ request }) => request.observed?.composite?.resource?.value["metadata"]);
  assert.deepEqual([...new Set(woken.map((metadata) => (metadata as { name: string }).name))], ["two"]);
});

test("a composed resource that is deleted comes back", async () => {
  await make("three");
  await eventually("the XR is ready", () => is("three", "Ready", "True"));
  const [ref] = resourceRefsOf(await bench.read(key("three")), "modern");
  const { metadata } = await cluster.kube.get(maps, key(ref?.name ?? ""));
  await cluster.kube.delete({ ...maps, ...key(ref?.name ?? "") });
  await eventually("it is back", async () => {
    const again = await cluster.kube.get(maps, key(ref?.name ?? "")).catch(() => undefined);
    return again !== undefined && again.metadata.uid !== metadata.uid;
  });
});

test("a required object that appears wakes the XR", async () => {
  const selector = create(ResourceSelector, {
    ...maps,
    namespace: "default",
    match: { case: "matchName", value: "late" },
  });
  functions.set("needs", { requires: { late: selector } });
  await bench.compositionOf("needy", ["needs"]);
  await make("four", "needy");
  await eventually("the XR is ready", () => is("four", "Ready", "True"));
  await calm();
  const before = calls();
  await cluster.kube.create({ ...maps, metadata: key("late") });
  await eventually("the function is called again", () => calls() > before);
  const found = functions.calls.at(-1)?.request.requiredResources.get("late")?.items.length;
  assert.equal(found, 1);
});

test("a new revision wakes the XRs that follow, and moves them", async () => {
  const composition = await bench.compositionOf("moving", ["ready"]);
  await make("five", "moving");
  await eventually("the XR is ready", () => is("five", "Ready", "True"));
  await makeRevision(cluster, composition, { revision: 2 });
  await eventually("it moved", async () => revisionRefOf(await bench.read(key("five")), "modern") === "moving-2");
});

test("a failing XR is tried again until it succeeds, and others are untouched", async () => {
  functions.set("flaky", () => {
    throw new Error("down");
  });
  await bench.compositionOf("flaky", ["flaky"]);
  await make("six", "flaky");
  await eventually("it says so", () => is("six", "Synced", "False"));
  functions.set("flaky", {});
  await eventually("it recovers", () => is("six", "Synced", "True"));
  assert.equal(conditionOf(conditionsOf(await bench.read(key("six"))), "Synced").message, undefined);
});

test("a deleted XR is gone, and its resources go with it", async () => {
  await make("seven");
  await eventually("the XR is ready", () => is("seven", "Ready", "True"));
  const refs = resourceRefsOf(await bench.read(key("seven")), "modern");
  await cluster.kube.delete({ ...bench.kind.type, ...key("seven") });
  await eventually("the XR is gone", async () => (await bench.read(key("seven")).catch(() => undefined)) === undefined);
  await eventually("its resources are gone", async () => {
    const left = await Promise.all(
      refs.map((ref) => cluster.kube.get(maps, key(ref.name ?? "")).catch(() => undefined)),
    );
    return left.every((object) => object === undefined);
  });
});

test("the watches are those on XRs, revisions and what XRs depend on", () => {
  const watches = engine.watchesOf(name).map(({ type, object }) => `${type} ${object.kind}`);
  assert.deepEqual(watches.sort(), [
    "CompositeResource Cache",
    "CompositionRevision CompositionRevision",
    "Dependency ConfigMap",
  ]);
});

test("many ready XRs, all reconciled again, cost no write, and one foreign edit costs one", async () => {
  const names = Array.from({ length: 60 }, (_, i) => `many${i}`);
  await Promise.all(names.map((xr) => make(xr)));
  for (const xr of names) await eventually(`${xr} is ready`, () => is(xr, "Ready", "True"));
  await calm();
  cluster.takeWrites();
  const before = calls();
  for (const xr of names) engine.enqueue(name, key(xr));
  await eventually("each was reconciled", () => calls() >= before + 2 * names.length);
  await calm();
  assert.deepEqual(cluster.takeWrites(), []);
  const [ref] = resourceRefsOf(await bench.read(key("many7")), "modern");
  await cluster.kube.patch({ ...maps, ...key(ref?.name ?? "") }, { data: { x: "tampered" } }, { type: "merge" });
  await eventually("it is undone", async () => {
    const { data } = (await cluster.kube.get(maps, key(ref?.name ?? ""))) as unknown as { data: { x: string } };
    return data.x !== "tampered";
  });
  await calm();
  const [ours, ...more] = cluster.takeWrites().slice(1);
  assert.deepEqual([ours, more], [`PATCH /api/v1/namespaces/default/configmaps/${ref?.name}`, []]);
});

const widgets = { apiVersion: "engine.example.org/v1", kind: "Widget" };
const widgetCrd = createCrd({
  group: "engine.example.org",
  kind: "Widget",
  plural: "widgets",
  isNamespaced: true,
  versions: [{ name: "v1", fields: {}, columns: [], hasStatus: false }],
});

test("a kind that is not served, or no longer, fails the XR that composes it and no other", async () => {
  functions.set("widget", { resources: { w: { ...widgets, metadata: {} } } });
  await bench.compositionOf("widget", ["widget"]);
  await make("composer", "widget");
  await eventually("it says so", () => is("composer", "Synced", "False"));
  await make("other");
  await eventually("the other is ready", () => is("other", "Ready", "True"));

  await installCrds(cluster.kube, [widgetCrd]);
  await eventually("it recovers", () => is("composer", "Synced", "True"));
  await cluster.kube.delete({ ...crdType, name: "widgets.engine.example.org" });
  await eventually("it says so again", () => is("composer", "Synced", "False"));
  const before = calls();
  engine.enqueue(name, key("other"));
  await eventually("the other is looked at", () => calls() >= before + 2);
  await calm();
  const message = conditionOf(conditionsOf(await bench.read(key("other"))), "Synced");
  assert.deepEqual([message.status, message.message], ["True", undefined]);
});
