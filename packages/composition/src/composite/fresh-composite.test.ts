// SPDX-License-Identifier: Apache-2.0
// What a new XR costs, write by write, and that a steady one costs nothing.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { autoReady } from "../../test/test-doubles.ts";
import { composedName } from "../composite-resource/crossplane-fields.ts";

let cluster: TestCluster;
let bench: CompositeBench;

before(async () => {
  cluster = await startTestCluster();
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Namespaced")));
  await bench.compositionOf("two-maps", ["compose", "ready"]);
  bench.functions.set("compose", { resources: { a: configMap({ x: "1" }), b: configMap({ x: "2" }) } });
  bench.functions.set("ready", autoReady);
});
after(() => cluster[Symbol.asyncDispose]());

test("a fresh XR of two ConfigMaps becomes ready with six writes, and then none", async () => {
  const { metadata } = await bench.xr("one", {}, { namespace: "default" });
  const key = { namespace: "default", name: "one" };
  const path = "/apis/platform.example.org/v1/namespaces/default/caches/one";
  cluster.takeWrites();

  await bench.reconcile(key);
  const names = ["a", "b"].map(
    (name) => `/api/v1/namespaces/default/configmaps/${composedName("one", metadata.uid ?? "", name)}`,
  );
  assert.deepEqual(cluster.takeWrites(), [
    `PUT ${path}`, // finalizer, Composition, revision, label: what must be known before anything is made
    `PATCH ${path}`, // references: what will be made
    `PATCH ${names[0]}`,
    `PATCH ${names[1]}`,
    `PATCH ${path}/status`, // Synced, Ready=False, Responsive
  ]);
  assert.deepEqual((await bench.condition(key, "Ready")).message, "Unready resources: a, b");

  await bench.reconcile(key);
  assert.deepEqual(cluster.takeWrites(), [`PATCH ${path}/status`]); // Ready=True
  assert.equal((await bench.condition(key, "Ready")).status, "True");

  await bench.reconcile(key);
  await bench.reconcile(key);
  assert.deepEqual(cluster.takeWrites(), []);
});
