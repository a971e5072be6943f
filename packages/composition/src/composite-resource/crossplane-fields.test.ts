// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { deepFreeze, type KubeObject } from "@purlin/kube-objects/object";
import {
  type CompositeSchema,
  claimRefOf,
  compositionRefOf,
  compositionSelectorOf,
  connectionSecretRefOf,
  crossplaneField,
  resourceRefsOf,
  revisionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
  withCrossplaneFields,
} from "./crossplane-fields.ts";

const fields = {
  compositionRef: { name: "comp" },
  compositionSelector: { matchLabels: { a: "b" } },
  compositionRevisionRef: { name: "comp-1" },
  compositionRevisionSelector: { matchLabels: {} },
  compositionUpdatePolicy: "Manual",
  resourceRefs: [{ apiVersion: "v1", kind: "ConfigMap", name: "x" }],
  claimRef: { apiVersion: "e/v1", kind: "App", namespace: "ns", name: "web" },
  writeConnectionSecretToRef: { name: "s", namespace: "ns" },
};
const objects: Readonly<Record<CompositeSchema, KubeObject>> = deepFreeze({
  legacy: { apiVersion: "e/v1", kind: "XApp", metadata: { name: "x" }, spec: { ...fields, size: 3 } },
  modern: { apiVersion: "e/v1", kind: "App", metadata: { name: "x" }, spec: { crossplane: fields, size: 3 } },
});
const bare: KubeObject = { apiVersion: "e/v1", kind: "App", metadata: { name: "x" } };

for (const schema of ["legacy", "modern"] as const) {
  const xr = objects[schema];
  test(`${schema}: every field is read where it lives`, () => {
    assert.equal(compositionRefOf(xr, schema), "comp");
    assert.deepEqual(compositionSelectorOf(xr, schema), { a: "b" });
    assert.equal(revisionRefOf(xr, schema), "comp-1");
    assert.deepEqual(revisionSelectorOf(xr, schema), {});
    assert.equal(updatePolicyOf(xr, schema), "Manual");
    assert.deepEqual(resourceRefsOf(xr, schema), fields.resourceRefs);
  });

  test(`${schema}: an object without them has none of them`, () => {
    assert.equal(compositionRefOf(bare, schema), undefined);
    assert.equal(compositionSelectorOf(bare, schema), undefined);
    assert.equal(revisionSelectorOf(bare, schema), undefined);
    assert.equal(updatePolicyOf(bare, schema), undefined);
    assert.deepEqual(resourceRefsOf(bare, schema), []);
    assert.equal(claimRefOf(bare, schema), undefined);
    assert.equal(connectionSecretRefOf(bare, schema), undefined);
  });

  test(`${schema}: setting a field changes nothing else and not the original`, () => {
    const changed = withCrossplaneFields(xr, schema, {
      compositionRef: { name: "other" },
      compositionSelector: undefined,
    });
    assert.equal(compositionRefOf(changed, schema), "other");
    assert.equal(compositionSelectorOf(changed, schema), undefined);
    assert.equal(revisionRefOf(changed, schema), "comp-1");
    assert.equal((changed["spec"] as { size: number }).size, 3);
    assert.equal(compositionRefOf(xr, schema), "comp");
  });

  test(`${schema}: objects on the way are made, and taking away what is not there makes none`, () => {
    const set = withCrossplaneFields(bare, schema, { compositionRef: { name: "c" } });
    assert.deepEqual(crossplaneField(set, schema, "compositionRef"), { name: "c" });
    assert.equal(withCrossplaneFields(bare, schema, { compositionRef: undefined }), bare);
  });
}

test("claim and connection secret exist on legacy XRs only", () => {
  assert.deepEqual(claimRefOf(objects.legacy, "legacy"), fields.claimRef);
  assert.deepEqual(connectionSecretRefOf(objects.legacy, "legacy"), fields.writeConnectionSecretToRef);
  assert.equal(claimRefOf(objects.modern, "modern"), undefined);
  assert.equal(connectionSecretRefOf(objects.modern, "modern"), undefined);
});
