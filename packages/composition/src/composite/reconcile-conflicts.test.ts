// SPDX-License-Identifier: Apache-2.0
// Conflicts of composite resources, on a real API server.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { conflict } from "@purlin/kube-objects/errors";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { type Intercept, intercepted } from "../../test/test-doubles.ts";

const denied = conflict({ group: "", resource: "configmaps" }, "a", "a webhook does not allow it");

let cluster: TestCluster;
let bench: CompositeBench;
let intercept: Intercept = () => {};
before(async () => {
  cluster = await startTestCluster();
  const client = intercepted(cluster.client, (call) => intercept(call));
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster")), { client });
  await bench.compositionOf("maps", ["f"]);
  bench.functions.set("f", { resources: { a: configMap({}, { namespace: "default" }) }, ready: ["a"] });
});
after(() => cluster[Symbol.asyncDispose]());

test("a conflict that returns at every reconcile is reported on the XR, a few are not, and the XR recovers", async () => {
  await bench.xr("denied");
  intercept = ({ method, kind }) => {
    if (method === "apply" && kind === "ConfigMap") throw denied;
  };
  for (let i = 0; i < 7; i++) await assert.rejects(bench.reconcile("denied"), /a webhook does not allow it/);
  const warnings = (): string[] => bench.takeEvents().filter((line) => line.includes(" Warning "));
  assert.deepEqual(warnings(), []);
  assert.equal((await bench.condition("denied", "Synced")).status, "Unknown");

  await assert.rejects(bench.reconcile("denied"), /a webhook does not allow it/);
  const { status, message } = await bench.condition("denied", "Synced");
  assert.equal(status, "False");
  assert.match(
    message ?? "",
    /^cannot compose resources: cannot apply composed resource "a": .*a webhook does not allow/,
  );
  assert.deepEqual(warnings(), [`Cache/denied Warning ComposeResources: ${message}`]);

  intercept = () => {};
  await bench.reconcile("denied");
  assert.equal((await bench.condition("denied", "Synced")).status, "True");
});
