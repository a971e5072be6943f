// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { deepFreeze } from "@purlin/kube-objects/object";
import { crdSpec, initialCrdStatus, withCrdDefaults } from "./crd-spec.ts";

const schema = { openAPIV3Schema: { type: "object" } };
const columns = [{ name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" }];
const version = (name: string, more: JsonObject = {}): JsonObject => ({ name, served: true, storage: false, ...more });
const crd = (versions: JsonObject[], more: JsonObject = {}): JsonObject => ({
  spec: { group: "x.org", versions, ...more },
});

test("the members of a version are read; those that are not set are false, empty or undefined", () => {
  const json = { name: "v1", deprecated: true, deprecationWarning: "soon", subresources: { status: {} } };
  const [read] = crdSpec(crd([json, version("v2")])).versions;
  assert.deepEqual(read, {
    json,
    name: "v1",
    served: false,
    storage: false,
    deprecated: true,
    deprecationWarning: "soon",
    schema: undefined,
    subresources: { status: {} },
    columns: [],
    selectableFields: [],
  });
  assert.equal(crdSpec(crd([version("v1", { deprecationWarning: null })])).versions[0]?.deprecationWarning, undefined);
});

test("what all versions have in common is at the top, and in no version", () => {
  const both = {
    schema,
    additionalPrinterColumns: columns,
    subresources: { status: {} },
    selectableFields: [{ jsonPath: ".a" }],
  };
  const { common, versions } = crdSpec(crd([version("v1", both), version("v2", both)]));
  assert.deepEqual(common, {
    schema: schema.openAPIV3Schema,
    subresources: { status: {} },
    columns,
    selectableFields: [{ jsonPath: ".a" }],
  });
  for (const one of versions) {
    assert.deepEqual([one.schema, one.subresources, one.columns, one.selectableFields], [undefined, undefined, [], []]);
  }
});

test("the members of the only version are common", () => {
  const { common, versions } = crdSpec(crd([version("v1", { schema })]));
  assert.deepEqual([common.schema, versions[0]?.schema], [schema.openAPIV3Schema, undefined]);
});

test("what differs between versions stays in them, member by member", () => {
  const other = { openAPIV3Schema: { type: "object", description: "other" } };
  const { common, versions } = crdSpec(
    crd([
      version("v1", { schema, additionalPrinterColumns: columns }),
      version("v2", { schema: other, additionalPrinterColumns: columns }),
    ]),
  );
  assert.equal(common.schema, undefined);
  assert.deepEqual(
    versions.map((one) => one.schema),
    [schema.openAPIV3Schema, other.openAPIV3Schema],
  );
  assert.deepEqual([common.columns, versions[0]?.columns], [columns, []]);
  const first = crdSpec(crd([version("v1", { schema }), version("v2")]));
  assert.deepEqual([first.common.schema, first.versions[0]?.schema], [undefined, schema.openAPIV3Schema]);
});

test("a CRD without a spec has an empty one", () => {
  const { versions, group, scope, names, conversion, preserveUnknownFields, common } = crdSpec({});
  assert.deepEqual(
    [versions, group, scope, names, conversion, preserveUnknownFields],
    [[], "", "", {}, undefined, false],
  );
  assert.deepEqual(common, { schema: undefined, subresources: undefined, columns: [], selectableFields: [] });
});

const specOf = (object: JsonObject): JsonObject => withCrdDefaults(deepFreeze(object))["spec"] as JsonObject;

test("names are made of the kind where they are not set", () => {
  assert.deepEqual(specOf(crd([], { names: { plural: "widgets", kind: "BigWidget" } }))["names"], {
    plural: "widgets",
    kind: "BigWidget",
    singular: "bigwidget",
    listKind: "BigWidgetList",
  });
  const own = { plural: "widgets", kind: "Widget", singular: "w", listKind: "Widgets" };
  assert.deepEqual(specOf(crd([], { names: own }))["names"], own);
  assert.deepEqual(specOf(crd([], { names: { plural: "widgets" } }))["names"], { plural: "widgets" });
});

test("the default strategy of conversion is None, the default port of a webhook is 443", () => {
  const conversion = (sent: JsonObject | undefined): unknown =>
    specOf(crd([], sent && { conversion: sent }))["conversion"];
  assert.deepEqual(conversion(undefined), { strategy: "None" });
  assert.deepEqual(conversion({}), { strategy: "None" });
  const webhook = (service: JsonObject): JsonObject => ({
    strategy: "Webhook",
    webhook: { conversionReviewVersions: ["v1"], clientConfig: { caBundle: "x", service } },
  });
  assert.deepEqual(conversion(webhook({ name: "a" })), webhook({ name: "a", port: 443 }));
  assert.deepEqual(conversion(webhook({ name: "a", port: 1 })), webhook({ name: "a", port: 1 }));
  const url = { strategy: "Webhook", webhook: { clientConfig: { url: "https://a" } } };
  assert.deepEqual(conversion(url), url);
});

test("a status without stored versions gets the one that is stored", () => {
  const stored = [version("v1"), version("v2", { storage: true })];
  const status = (sent: JsonObject, versions = stored): unknown =>
    withCrdDefaults({ ...crd(versions), status: sent })["status"];
  assert.deepEqual(status({ conditions: [] }), { conditions: [], storedVersions: ["v2"] });
  assert.deepEqual(status({ storedVersions: ["v1"] }), { storedVersions: ["v1"] });
  assert.deepEqual(status({}, [version("v1")]), {}, "no version is stored");
  assert.ok(!("status" in withCrdDefaults(crd(stored))), "no status is made");
});

test("an object without a spec is left as it is", () => {
  const object = { metadata: {} };
  assert.equal(withCrdDefaults(object), object);
});

test("a new CRD has accepted no names and stored one version", () => {
  const acceptedNames = { plural: "", kind: "" };
  assert.deepEqual(initialCrdStatus(crd([version("v1", { storage: true })])), {
    conditions: null,
    acceptedNames,
    storedVersions: ["v1"],
  });
  assert.deepEqual(initialCrdStatus({}), { conditions: null, acceptedNames, storedVersions: null });
});
