// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { checkRules } from "@purlin/cel";
import { fieldErrorsText, fieldErrorText, invalidValue } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { subdomainName } from "@purlin/kube-objects/metadata";
import type { Schema } from "@purlin/kube-objects/schema";
import fc from "fast-check";
import { initialCrdStatus, withCrdDefaults } from "./crd-spec.ts";
import {
  type CheckRules,
  requiredCrdName,
  validateCrd,
  validateCrdStatus,
  validatingCrd,
  validatingCrdUpdate,
} from "./validate-crd.ts";

interface Answer {
  readonly name: string;
  readonly crd: JsonObject;
  /** What the server said, when it refused. */
  readonly message?: string;
  /** The spec it would have stored, when it did not. */
  readonly spec?: JsonObject;
}

// CRDs and what a kube-apiserver 1.36.3 said to each.
const answers = JSON.parse(
  readFileSync(new URL("./testdata/real-server.json", import.meta.url), "utf8"),
) as readonly Answer[];

const check: CheckRules = (schema, options) => checkRules(schema as Schema, options);

function problems(crd: JsonObject): string {
  const name = String((crd["metadata"] as JsonObject)["name"]);
  const wrongName = name === requiredCrdName(crd) ? [] : ['must be spec.names.plural+"."+spec.group'];
  const named = [...subdomainName(name, false), ...wrongName].map((detail) =>
    invalidValue("metadata.name", name, detail),
  );
  return fieldErrorsText([...named, ...validateCrd({ ...crd, status: initialCrdStatus(crd) }, check)]);
}

for (const { name, crd, message, spec } of answers) {
  test(`as the reference server: ${name}`, () => {
    const filled = withCrdDefaults(crd);
    const prefix = `CustomResourceDefinition.apiextensions.k8s.io "${(crd["metadata"] as JsonObject)["name"]}" is invalid: `;
    assert.equal(problems(filled), message?.slice(prefix.length) ?? "");
    const { names, conversion } = filled["spec"] as JsonObject;
    if (spec !== undefined)
      assert.deepEqual({ names, conversion }, { names: spec["names"], conversion: spec["conversion"] });
  });
}

const schema = (properties: JsonObject): JsonObject => ({ openAPIV3Schema: { type: "object", properties } });
const version = (name: string, more: JsonObject = {}): JsonObject => ({
  name,
  served: true,
  storage: false,
  schema: schema({}),
  ...more,
});

function widgets(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  return withCrdDefaults({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.org" },
    spec: {
      group: "example.org",
      scope: "Namespaced",
      names: { plural: "widgets", kind: "Widget" },
      versions: [version("v1", { storage: true })],
      ...spec,
    },
    status: { storedVersions: ["v1"], ...status },
  });
}

const established = { conditions: [{ type: "Established", status: "True" }] };

const updates: Record<string, { old: JsonObject; now: JsonObject; says: string[] }> = {
  ScopeBeforeEstablished: { old: widgets(), now: widgets({ scope: "Cluster" }), says: [] },
  ScopeOnceEstablished: {
    old: widgets({}, established),
    now: widgets({ scope: "Cluster", names: { plural: "widgets", kind: "Gadget" } }, established),
    says: [
      'spec.scope: Invalid value: "Cluster": field is immutable',
      'spec.names.kind: Invalid value: "Gadget": field is immutable',
    ],
  },
  GroupAndPluralAlways: {
    old: widgets(),
    now: widgets({ group: "other.org", names: { plural: "things", kind: "Widget" } }),
    says: [
      'spec.group: Invalid value: "other.org": field is immutable',
      'spec.names.plural: Invalid value: "things": field is immutable',
    ],
  },
  StoredVersionDropped: {
    old: widgets({}, { storedVersions: ["v1"] }),
    now: widgets({ versions: [version("v2", { storage: true })] }, { storedVersions: ["v1", "v2"] }),
    says: [
      'status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions',
    ],
  },
  StorageVersionNotStored: {
    old: widgets(),
    now: widgets({ versions: [version("v1"), version("v2", { storage: true })] }),
    says: ['status.storedVersions: Invalid value: ["v1"]: must have the storage version v2'],
  },
};
for (const [name, { old, now, says }] of Object.entries(updates)) {
  test(`update: ${name}`, () => {
    assert.deepEqual(finish(validatingCrdUpdate(now, old, () => [])).map(fieldErrorText), says);
  });
}

test("what versions do not share is reported under the version", () => {
  const crd = widgets({
    versions: [version("v1", { storage: true }), version("v2", { schema: schema({ spec: {} }) })],
  });
  assert.deepEqual(validateCrd(crd, () => []).map(fieldErrorText), [
    "spec.versions[1].schema.openAPIV3Schema.properties[spec].type: Required value: must not be empty for specified object fields",
  ]);
});

function schemaProblems(properties: JsonObject): string[] {
  const crd = widgets({ versions: [version("v1", { storage: true, schema: schema(properties) })] });
  return validateCrd(crd, check).map(fieldErrorText);
}

const root = "spec.validation.openAPIV3Schema.properties";

test("of a schema that preserves unknown fields not, no other error about its structure", () => {
  const preserve = "x-kubernetes-preserve-unknown-fields";
  const untyped = { a: { [preserve]: false, properties: { b: {} } }, c: { type: "string", default: 7 } };
  assert.deepEqual(schemaProblems(untyped), [
    `${root}[a].${preserve}: Invalid value: false: must be true or undefined`,
  ]);
});

test("what is wrong inside a default is named below it, items after a point", () => {
  const list = { type: "array", items: { type: "integer" }, default: [1, "x"] };
  assert.deepEqual(schemaProblems({ a: list }), [
    `${root}[a].default.[1]: Invalid value: "string": [1] in body must be of type integer: "string"`,
  ]);
});

test("a schema that names its own is refused when nothing else is wrong with it", () => {
  const at = "spec.validation.openAPIV3Schema";
  assert.deepEqual(schemaProblems({ a: { type: "string", $schema: "x" } }), [
    `${at}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`,
  ]);
  assert.equal(schemaProblems({ a: { type: "nope", $schema: "x" } }).length, 1);
});

test("a default of an integer or a string can be anything, as in the reference", () => {
  assert.deepEqual(schemaProblems({ a: { "x-kubernetes-int-or-string": true, default: 1.5 } }), []);
});

test("a default has to keep the rules of its own schema, as one that stays and as one that comes", () => {
  const ruled = (rule: string, more: JsonObject = {}): JsonObject => ({
    a: { type: "integer", default: 1, "x-kubernetes-validations": [{ rule, ...more }] },
  });
  const at = `${root}[a].default: Invalid value: 1: failed rule:`;
  assert.deepEqual(schemaProblems(ruled("self > 0")), []);
  assert.deepEqual(schemaProblems(ruled("self > 1")), [`${at} self > 1`]);
  assert.deepEqual(schemaProblems(ruled("self != oldSelf")), [`${at} self != oldSelf`]);
  const comes = "oldSelf.hasValue() && self > 0";
  assert.deepEqual(schemaProblems(ruled(comes, { optionalOldSelf: true })), [`${at} ${comes}`]);
});

test("rules are compiled for schemas in order, and not again for schemas that did not change", () => {
  const asked: string[] = [];
  const compile: CheckRules = (_, { path }) => {
    asked.push(path);
    return [];
  };
  const old = widgets({
    versions: [version("v1", { storage: true }), version("v2", { schema: schema({ a: { type: "string" } }) })],
  });
  validateCrd(old, compile);
  assert.deepEqual(asked.splice(0), [
    "spec.versions[0].schema.openAPIV3Schema",
    "spec.versions[1].schema.openAPIV3Schema",
  ]);
  finish(validatingCrdUpdate(old, old, compile));
  assert.deepEqual(asked, []);
});

test("any JSON in a schema gives findings, never an exception", () => {
  fc.assert(
    fc.property(fc.object({ maxDepth: 5 }), (random) => {
      const crd = widgets({
        versions: [version("v1", { storage: true, schema: { openAPIV3Schema: random as JsonObject } })],
      });
      for (const error of validateCrd(crd, () => [])) assert.equal(typeof fieldErrorText(error), "string");
    }),
  );
});

test("a definition that was stored with more than 1,000 names can be changed, but gets no more", () => {
  const withNames = (member: string, spec: number, status = spec): JsonObject => {
    const listed = (count: number): JsonObject => ({
      ...{ plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      [member]: Array.from({ length: count }, (_, index) => `n${index}`),
    });
    const accepted = { acceptedNames: listed(status), storedVersions: ["v1"] };
    return widgets({ names: listed(spec) }, accepted);
  };
  for (const member of ["shortNames", "categories"]) {
    const old = withNames(member, 1002);
    const update = (now: JsonObject): string[] => finish(validatingCrdUpdate(now, old, () => [])).map(fieldErrorText);
    const many = (path: string, count: number): string =>
      `${path}.${member}: Too many: ${count}: must have at most 1000 items`;
    assert.deepEqual(update(old), [], "as it was");
    assert.deepEqual(update(withNames(member, 1001)), [], "fewer");
    assert.deepEqual(update(withNames(member, 1)), []);
    assert.deepEqual(update(withNames(member, 1003)), [many("spec.names", 1003), many("status.acceptedNames", 1003)]);
    const wrong = withNames(member, 1002);
    ((wrong["spec"] as JsonObject)["names"] as Record<string, JsonObject[string]>)[member] = [
      ...Array.from({ length: 1001 }, (_, index) => `n${index}`),
      "WRONG",
    ];
    assert.match(update(wrong)[0] ?? "", /^spec\.names\.\w+\[1001\]: Invalid value: "WRONG"/);
    assert.deepEqual(validateCrdStatus(old, withNames(member, 1002, 0)), [], "the server accepts names of the spec");
    assert.equal(validateCrdStatus(old, withNames(member, 1001, 0)).length, 1);
    assert.equal(validateCrdStatus(old).length, 1);
    assert.deepEqual(finish(validatingCrd(old, () => [])).map(fieldErrorText), [
      many("spec.names", 1002),
      many("status.acceptedNames", 1002),
    ]);
  }
});
