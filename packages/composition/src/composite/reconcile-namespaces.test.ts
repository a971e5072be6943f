// SPDX-License-Identifier: Apache-2.0
// Where composed resources belong: kinds have namespaces or not, and functions may be wrong about that.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import type { ResponseWish } from "../../test/test-doubles.ts";
import { resourceRefsOf } from "../composite-resource/crossplane-fields.ts";

let cluster: TestCluster;
let bench: CompositeBench;
let number = 0;
before(async () => {
  cluster = await startTestCluster();
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster")));
  await bench.compositionOf("c", ["f"]);
});
after(() => cluster[Symbol.asyncDispose]());

const synced = async (name: string): Promise<string> => (await bench.condition(name, "Synced")).message ?? "";

/** The name of an XR whose function answered so once. */
async function made(wish: ResponseWish): Promise<string> {
  bench.functions.set("f", wish);
  const name = `xr${number++}`;
  await bench.xr(name, { crossplane: { compositionRef: { name: "c" } } });
  await bench.reconcile(name).catch(() => undefined);
  return name;
}

test("a namespaced kind without a namespace, in a namespace that is not there: it says what to set, or make", async () => {
  const name = await made({ resources: { a: configMap() } });
  assert.equal(
    await synced(name),
    'cannot compose resources: cannot apply composed resource "a": a ConfigMap is namespaced, and the function set no namespace: set its metadata.namespace',
  );
  bench.functions.set("f", { resources: { a: configMap({}, { namespace: "missing" }) } });
  await assert.rejects(bench.reconcile(name));
  assert.equal(
    await synced(name),
    'cannot compose resources: cannot apply composed resource "a": namespaces "missing" not found: create the namespace, or correct the function',
  );
});

test("a namespace means nothing to a cluster-scoped kind: it is neither stored nor looked for", async () => {
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  const name = await made({
    resources: { a: { ...role, metadata: { namespace: "default", name: "placed" } } },
    ready: ["a"],
  });
  assert.deepEqual(resourceRefsOf(await bench.read(name), "modern"), [{ ...role, name: "placed" }]);
  const stored = await cluster.kube.get(role, { name: "placed" });
  assert.deepEqual([...bench.state.tracker.dependents(stored)], [{ name }]);
});
