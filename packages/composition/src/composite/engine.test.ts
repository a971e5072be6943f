// SPDX-License-Identifier: Apache-2.0
// The controller as it runs: started by an engine, woken by what happens on a real API server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create, ResourceSelector } from "@purlin/function-protocol";
import { createResourceFetcher, noSchemas } from "@purlin/function-runner";
import type { KubeObject } from "@purlin/kube-client";
import {
  type ControllerEngine,
  createControllerEngine,
  noEvents,
  silentLog,
  systemClock,
} from "@purlin/kube-controller";
import { conditionOf, conditionsOf } from "@purlin/kube-controller/object";
import { resourceRefsOf, revisionRefOf } from "../composite-resource/machinery.ts";
import { type CompositeBench, configMap, createCompositeBench, makeRevision } from "../testing/composite-bench.ts";
import { cacheDefinition } from "../testing/definitions.ts";
import { startTestCluster, type TestCluster, until } from "../testing/test-cluster.ts";
import { autoReady, createTestFunctions, type TestFunctions } from "../testing/test-functions.ts";
import { controllerName } from "./composite-state.ts";
import { clientReader } from "./observe/client-reader.ts";
import { createCompositeController } from "./setup.ts";

const maps = { apiVersion: "v1", kind: "ConfigMap" };
let cluster: TestCluster;
let bench: CompositeBench;
let engine: ControllerEngine;
let functions: TestFunctions;
let name: string;

before(async () => {
  cluster = await startTestCluster();
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Namespaced")));
  engine = createControllerEngine({ informers: cluster.informers });
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

/** Waits until nobody is called any more, as far as a few turns of the event loop can tell. */
async function calm(): Promise<void> {
  for (let quiet = 0, before = calls(); quiet < 10; quiet++) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    if (calls() === before) continue;
    before = calls();
    quiet = 0;
  }
}

test("a fresh XR becomes ready in two passes, and its own status writes wake nobody", async () => {
  const before = calls();
  await make("one");
  await until(() => is("one", "Ready", "True"), "the XR is ready");
  await calm();
  assert.equal(calls() - before, 4, "two passes of two functions");
});

test("case 115: what happens to a composed resource wakes its XR, and no other", async () => {
  await make("two");
  await until(() => is("two", "Ready", "True"), "the XR is ready");
  await calm();
  const [ref] = resourceRefsOf(await bench.read(key("two")), "modern");
  const before = functions.calls.length;
  await cluster.kube.patch({ ...maps, ...key(ref?.name ?? "") }, { data: { x: "tampered" } }, { type: "merge" });
  await until(async () => {
    const { data } = (await cluster.kube.get(maps, key(ref?.name ?? ""))) as unknown as { data: { x: string } };
    return data.x !== "tampered";
  }, "the edit is undone");
  await calm();
  const woken = functions.calls
    .slice(before)
    .map(({ request }) => request.observed?.composite?.resource?.value["metadata"]);
  assert.deepEqual([...new Set(woken.map((metadata) => (metadata as { name: string }).name))], ["two"]);
});

test("case 59: a composed resource that is deleted comes back", async () => {
  await make("three");
  await until(() => is("three", "Ready", "True"), "the XR is ready");
  const [ref] = resourceRefsOf(await bench.read(key("three")), "modern");
  const { metadata } = await cluster.kube.get(maps, key(ref?.name ?? ""));
  await cluster.kube.delete({ ...maps, ...key(ref?.name ?? "") });
  await until(async () => {
    const again = await cluster.kube.get(maps, key(ref?.name ?? "")).catch(() => undefined);
    return again !== undefined && again.metadata.uid !== metadata.uid;
  }, "it is back");
});

test("case 116: a required object that appears wakes the XR", async () => {
  const selector = create(ResourceSelector, {
    ...maps,
    namespace: "default",
    match: { case: "matchName", value: "late" },
  });
  functions.set("needs", { requires: { late: selector } });
  await bench.compositionOf("needy", ["needs"]);
  await make("four", "needy");
  await until(() => is("four", "Ready", "True"), "the XR is ready");
  await calm();
  const before = calls();
  await cluster.kube.create({ ...maps, metadata: key("late") });
  await until(() => calls() > before, "the function is called again");
  const found = functions.calls.at(-1)?.request.requiredResources.get("late")?.items.length;
  assert.equal(found, 1);
});

test("case 123: a new revision wakes those who follow, and moves them", async () => {
  const composition = await bench.compositionOf("moving", ["ready"]);
  await make("five", "moving");
  await until(() => is("five", "Ready", "True"), "the XR is ready");
  await makeRevision(cluster, composition, { revision: 2 });
  await until(async () => revisionRefOf(await bench.read(key("five")), "modern") === "moving-2", "it moved");
});

test("a failing XR is tried again until it succeeds, and others are untouched", async () => {
  functions.set("flaky", () => {
    throw new Error("down");
  });
  await bench.compositionOf("flaky", ["flaky"]);
  await make("six", "flaky");
  await until(() => is("six", "Synced", "False"), "it says so");
  functions.set("flaky", {});
  await until(() => is("six", "Synced", "True"), "it recovers");
  assert.equal(conditionOf(conditionsOf(await bench.read(key("six"))), "Synced").message, undefined);
});

test("a deleted XR is gone, and its resources go with it", async () => {
  await make("seven");
  await until(() => is("seven", "Ready", "True"), "the XR is ready");
  const refs = resourceRefsOf(await bench.read(key("seven")), "modern");
  await cluster.kube.delete({ ...bench.kind.type, ...key("seven") });
  await until(async () => (await bench.read(key("seven")).catch(() => undefined)) === undefined, "the XR is gone");
  await until(async () => {
    const left = await Promise.all(
      refs.map((ref) => cluster.kube.get(maps, key(ref.name ?? "")).catch(() => undefined)),
    );
    return left.every((object) => object === undefined);
  }, "its resources are gone");
});

test("case 120: the watches are those on XRs, revisions and what XRs depend on", () => {
  const watches = engine.watchesOf(name).map(({ type, object }) => `${type} ${object.kind}`);
  assert.deepEqual(watches.sort(), [
    "CompositeResource Cache",
    "CompositionRevision CompositionRevision",
    "Dependency ConfigMap",
  ]);
});

test("D14: many ready XRs, all reconciled again, cost no write, and one foreign edit costs one", async () => {
  const names = Array.from({ length: 60 }, (_, i) => `many${i}`);
  await Promise.all(names.map((xr) => make(xr)));
  for (const xr of names) await until(() => is(xr, "Ready", "True"), `${xr} is ready`);
  await calm();
  cluster.takeWrites();
  const before = calls();
  for (const xr of names) engine.enqueue(name, key(xr));
  await until(() => calls() >= before + 2 * names.length, "each was reconciled");
  await calm();
  assert.deepEqual(cluster.takeWrites(), []);
  const [ref] = resourceRefsOf(await bench.read(key("many7")), "modern");
  await cluster.kube.patch({ ...maps, ...key(ref?.name ?? "") }, { data: { x: "tampered" } }, { type: "merge" });
  await until(() => calls() > before + 2 * names.length, "it is noticed");
  await calm();
  const [ours, ...more] = cluster.takeWrites().slice(1);
  assert.deepEqual([ours, more], [`PATCH /api/v1/namespaces/default/configmaps/${ref?.name}`, []]);
});
