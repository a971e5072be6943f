// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { parseFieldPath } from "../files/yaml-position.ts";
import { type Found, lookUp } from "./kind-schemas.ts";

const schema: Schema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "string" },
        ports: { type: "array", items: { type: "object", properties: { number: { type: "integer" } } } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        any: { type: "object", additionalProperties: true },
        sealed: { type: "object", additionalProperties: false },
        extra: {
          type: "object",
          "x-kubernetes-preserve-unknown-fields": true,
          properties: { known: { type: "integer" } },
        },
        embedded: { type: "object", "x-kubernetes-embedded-resource": true },
        open: { type: "object" },
        untyped: {},
      },
    },
  },
};

const at = (path: string): Found => lookUp(schema, parseFieldPath(path));
const typeAt = (path: string): string | undefined => {
  const found = at(path);
  assert.ok(found.isKnown, path);
  return found.schema?.type;
};

test("a path leads to the schema of its field", () => {
  assert.equal(typeAt("spec.size"), "string");
  assert.equal(typeAt("spec.ports"), "array");
  assert.equal(typeAt("spec.ports[0].number"), "integer");
  assert.equal(typeAt("spec.ports[*].number"), "integer");
  assert.equal(typeAt("spec.labels.team"), "string");
  assert.equal(typeAt("spec.labels[a.b/c]"), "string");
  assert.equal(typeAt("spec.labels[*]"), "string");
  assert.equal(typeAt(""), "object");
});

test("where a kind takes any field, the schema is not known, and nothing is missing", () => {
  for (const path of ["spec.extra.x.y", "spec.embedded.spec", "spec.open.x", "spec.untyped.x.y", "spec.any.x.y"]) {
    assert.deepEqual(at(path), { isKnown: true, schema: undefined }, path);
  }
  assert.deepEqual(at("spec.any.x"), { isKnown: true, schema: {} });
});

test("an unknown field is named, with the closest one of its object", () => {
  assert.deepEqual(at("spec.sizes"), { isKnown: false, name: "sizes", closest: "size" });
  assert.deepEqual(at("spec.completelyDifferent.x"), {
    isKnown: false,
    name: "completelyDifferent",
    closest: undefined,
  });
  assert.deepEqual(at("specs.size"), { isKnown: false, name: "specs", closest: "spec" });
  assert.deepEqual(at("spec.ports.number"), { isKnown: false, name: "number", closest: undefined });
  assert.deepEqual(at("spec.size.x"), { isKnown: false, name: "x", closest: undefined });
  assert.deepEqual(at("spec.size[0]"), { isKnown: false, name: 0, closest: undefined });
  assert.deepEqual(at("spec.sealed.x"), { isKnown: false, name: "x", closest: undefined });
});

test("names that every JavaScript object has are fields like others", () => {
  assert.deepEqual(at("spec.constructor"), { isKnown: false, name: "constructor", closest: undefined });
  assert.equal(at("spec.toString").isKnown, false);
});

test("metadata, apiVersion and kind are known for every kind", () => {
  assert.equal(typeAt("metadata.labels.team"), "string");
  assert.equal(typeAt("metadata.name"), "string");
  assert.equal(typeAt("kind"), "string");
  assert.equal(typeAt("apiVersion"), "string");
  assert.deepEqual(at("metadata.nmae"), { isKnown: false, name: "nmae", closest: "name" });
  assert.deepEqual(at("spec.kind"), { isKnown: false, name: "kind", closest: undefined });
});
