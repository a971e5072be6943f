// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { servedVersions } from "./crd-openapi.ts";
import { isOpenAPIError } from "./open-api-document.ts";

const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } };
const crdOf = (spec: object = {}): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: { group: "example.org", names: { kind: "Widget", plural: "widgets" }, versions: [version], ...spec },
});

test("a served version is read whole", () => {
  const full = {
    ...version,
    subresources: { scale: {}, status: {} },
    selectableFields: [{ jsonPath: ".spec.color" }, { jsonPath: "spec.size" }, {}],
  };
  assert.deepEqual(servedVersions(crdOf({ versions: [full] })), [
    {
      group: "example.org",
      version: "v1",
      kind: "Widget",
      listKind: "WidgetList",
      schema: { type: "object" },
      hasScale: true,
      selectableFields: ["spec.color", "spec.size"],
    },
  ]);
});

test("versions that are not served are left out, and a list kind can be named", () => {
  const names = { kind: "Fish", listKind: "School" };
  const versions = [{ ...version, name: "v2" }, { name: "v1", served: false }, { name: "v0" }];
  const read = servedVersions(crdOf({ names, versions }));
  assert.deepEqual(
    read.map(({ version: name, listKind, hasScale }) => ({ name, listKind, hasScale })),
    [{ name: "v2", listKind: "School", hasScale: false }],
  );
});

test("a version may lack a schema", () => {
  for (const schema of [undefined, null, {}, { openAPIV3Schema: null }]) {
    const [read] = servedVersions(crdOf({ versions: [{ name: "v1", served: true, schema }] }));
    assert.equal(read?.schema, undefined);
  }
});

let deep: object = { type: "object" };
for (let i = 0; i < 20_000; i++) deep = { type: "object", properties: { a: deep } };

const refused: Record<string, { reason: string; crd: unknown; want: RegExp }> = {
  Nothing: { reason: "not an object", crd: null, want: /must be an object/ },
  Pod: { reason: "another kind", crd: { apiVersion: "v1", kind: "Pod" }, want: /expected .* got v1 Pod/ },
  Beta: {
    reason: "the version that clusters no longer serve",
    crd: { ...crdOf(), apiVersion: "apiextensions.k8s.io/v1beta1" },
    want: /got apiextensions.k8s.io\/v1beta1/,
  },
  NoSpec: { reason: "no spec", crd: { ...crdOf(), spec: 5 }, want: /"widgets.example.org": spec must be an object/ },
  NoGroup: { reason: "no group", crd: crdOf({ group: "" }), want: /spec: group must be a non-empty string/ },
  NoNames: { reason: "no names", crd: crdOf({ names: undefined }), want: /spec: names must be an object/ },
  NoKind: { reason: "no kind", crd: crdOf({ names: {} }), want: /spec\.names: kind must be/ },
  OddListKind: {
    reason: "a list kind that is not a string",
    crd: crdOf({ names: { kind: "W", listKind: 5 } }),
    want: /listKind must be/,
  },
  NoVersions: { reason: "no versions", crd: crdOf({ versions: {} }), want: /spec\.versions must be a list/ },
  OddVersion: {
    reason: "a version that is not an object",
    crd: crdOf({ versions: ["v1"] }),
    want: /spec\.versions\[0\] must be an object/,
  },
  NamelessVersion: {
    reason: "a version without a name",
    crd: crdOf({ versions: [version, { served: true }] }),
    want: /spec\.versions\[1\]: name/,
  },
  OddSchema: {
    reason: "schema is not an object",
    crd: crdOf({ versions: [{ ...version, schema: "x" }] }),
    want: /\[0\]: schema must be an object/,
  },
  OddOpenAPI: {
    reason: "openAPIV3Schema is not an object",
    crd: crdOf({ versions: [{ ...version, schema: { openAPIV3Schema: [] } }] }),
    want: /openAPIV3Schema must be an object/,
  },
  Deep: {
    reason: "a schema that no stack could walk",
    crd: crdOf({ versions: [{ ...version, schema: { openAPIV3Schema: deep } }] }),
    want: /nested deeper than 1000 levels/,
  },
};

for (const [name, { reason, crd, want }] of Object.entries(refused)) {
  test(`servedVersions refuses ${name}: ${reason}`, () => {
    assert.throws(
      () => servedVersions(crd),
      (error) => isOpenAPIError(error) && want.test(error.message),
    );
  });
}
