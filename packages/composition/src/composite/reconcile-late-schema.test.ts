// SPDX-License-Identifier: Apache-2.0
// An API server that does not serve the fields we added to a CRD yet: it serves them a moment later, and nothing is reported.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeObject } from "@purlin/kube-objects/object";
import { createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { startTestCluster } from "../../test/test-control.ts";

const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };

/** The CRD without a field of ours. */
function without(crd: KubeObject, field: string): KubeObject {
  const copy = structuredClone(crd) as unknown as {
    spec: { versions: { schema: { openAPIV3Schema: { properties: { status: { properties: object } } } } }[] };
  };
  for (const { schema } of copy.spec.versions) {
    Reflect.deleteProperty(schema.openAPIV3Schema.properties.status.properties, field);
  }
  return copy as unknown as KubeObject;
}

test("a field of ours that the server does not know yet does not fail the composite resource", async () => {
  await using cluster = await startTestCluster();
  const definition = await cluster.define(cacheDefinition("Cluster"));
  const bench = createCompositeBench(cluster, definition);
  await bench.compositionOf("c", ["f"]);
  bench.functions.set("f", {});
  const name = definition.metadata.name ?? "";
  const whole = await cluster.kube.get(crdType, { name });
  const late = await cluster.kube.update(without(whole, "lastHandledReconcileAt"));
  await bench.xr("one", {}, { annotations: { "crossplane.io/reconcile-requested-at": "now" } });
  await assert.rejects(bench.reconcile("one"), /lastHandledReconcileAt: field not declared in schema/);
  assert.deepEqual(
    bench.takeEvents().filter((line) => line.includes("Warning")),
    [],
  );
  assert.notEqual((await bench.condition("one", "Synced")).status, "False");
  const { resourceVersion } = late.metadata;
  await cluster.kube.update({ ...whole, metadata: { ...whole.metadata, resourceVersion } } as KubeObject);
  await bench.reconcile("one");
  assert.equal((await bench.condition("one", "Synced")).status, "True");
});
