// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { testTypes } from "@purlin/kube-builtin/testing";
import { testRequest } from "../../test/test-server.ts";
import type { ResourceType } from "../registry/registry.ts";
import { isPlain, negotiateForm } from "./object-response.ts";

const typeOf = (resource: string, group = ""): ResourceType => {
  const type = testTypes.find((one) => one.resource === resource && one.group === group);
  assert.ok(type);
  return type;
};
const form = (accept: string, query = "", list?: ResourceType): ReturnType<typeof negotiateForm> =>
  negotiateForm(testRequest(`/x${query}`, { headers: { accept } }), list);
const as = (shape: string, version = "v1"): string => `application/json;as=${shape};g=meta.k8s.io;v=${version}`;

const shapes: Record<string, { reason: string; accept: string; want: object }> = {
  Whole: { reason: "nothing special", accept: "application/json", want: { shape: "whole", shapeVersion: "v1" } },
  Table: { reason: "rows", accept: as("Table"), want: { shape: "table", include: "Metadata" } },
  OldTable: { reason: "rows as they were", accept: as("Table", "v1beta1"), want: { shapeVersion: "v1beta1" } },
  Metadata: { reason: "heads", accept: as("PartialObjectMetadata"), want: { shape: "metadata" } },
  Kubectl: {
    reason: "the first that is offered",
    accept: `${as("Table", "v9")},${as("Table")},application/json`,
    want: { shape: "table" },
  },
  Other: {
    reason: "shapes of others are passed over",
    accept: `${as("Nope")},application/json`,
    want: { shape: "whole" },
  },
  Yaml: {
    reason: "in another form",
    accept: "application/yaml",
    want: { mediaType: "application/yaml", shape: "whole" },
  },
};
for (const [name, { reason, accept, want }] of Object.entries(shapes)) {
  test(`the form of an answer: ${name}`, () => {
    const found = form(accept);
    assert.deepEqual({ ...found, ...want }, found, reason);
  });
}

test("only whole objects in one line of JSON share their bytes", () => {
  assert.ok(isPlain(form("application/json")));
  for (const accept of ["application/yaml", "application/json;pretty=1", as("Table"), as("PartialObjectMetadata")]) {
    assert.ok(!isPlain(form(accept)), accept);
  }
  assert.ok(!isPlain(form("application/json", "?pretty=true")));
});

test("how much of each object a table has can be chosen, and nothing else", () => {
  for (const include of ["None", "Object", "Metadata"]) {
    assert.equal(form(as("Table"), `?includeObject=${include}`).include, include);
  }
  assert.equal(form(as("Table"), "?includeObject=").include, "Metadata");
  assert.throws(() => form(as("Table"), "?includeObject=All"), /must be 'Metadata', 'Object', 'None', or empty/);
  assert.equal(
    form("application/json", "?includeObject=All").include,
    "Metadata",
    "no table is made for clients that request none",
  );
});

const lists: Record<string, ResourceType> = {
  "*core.ConfigMapList": typeOf("configmaps"),
  "*apps.DeploymentList": typeOf("deployments", "apps"),
  "*rbac.RoleList": typeOf("roles", "rbac.authorization.k8s.io"),
  "*core.EventList": typeOf("events", "events.k8s.io"),
  "*unstructured.UnstructuredList": { ...typeOf("configmaps"), custom: true },
};
for (const [name, type] of Object.entries(lists)) {
  test(`a list is not one object: ${name}`, () => {
    assert.throws(() => form(as("PartialObjectMetadata"), "", type), {
      message: `you requested PartialObjectMetadata, but the requested object is a list (${name})`,
    });
    assert.equal(form(as("PartialObjectMetadataList"), "", type).shape, "metadata");
  });
}
