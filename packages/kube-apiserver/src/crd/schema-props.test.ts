// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import { printSchema, schemaFields, schemaStruct } from "./schema-props.ts";

/** The fields of a structure that are not as they are in an empty one. */
function given(schema: JsonObject): JsonObject {
  const empty = schemaStruct({});
  const filled = Object.entries(schemaStruct(schema));
  return Object.fromEntries(filled.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(empty[name])));
}

test("every field is printed, in the order of the structure", () => {
  assert.deepEqual(
    Object.keys(schemaStruct({})),
    schemaFields.map(({ name }) => name),
  );
  assert.match(printSchema({}), /^\{"ID":"","Schema":"","Ref":null,"Description":"","Type":"","Nullable":false,/);
  assert.match(printSchema({}), /"XListMapKeys":null,"XListType":null,"XMapType":null,"XValidations":null\}$/);
});

test("fields are found by the names that definitions give them", () => {
  assert.deepEqual(given({ id: "i", $schema: "s", $ref: "r", "x-kubernetes-int-or-string": true }), {
    ID: "i",
    Schema: "s",
    Ref: "r",
    XIntOrString: true,
  });
  assert.deepEqual(given({ "x-kubernetes-list-map-keys": ["k"], "x-kubernetes-preserve-unknown-fields": true }), {
    XPreserveUnknownFields: true,
    XListMapKeys: ["k"],
  });
});

test("schemas inside are structures too, and unions say what they hold", () => {
  const text = schemaStruct({ type: "string" });
  const inside = { type: "string" };
  assert.deepEqual(given({ items: inside }), { Items: { Schema: text, JSONSchemas: null } });
  assert.deepEqual(given({ items: [inside] }), { Items: { Schema: null, JSONSchemas: [text] } });
  assert.deepEqual(given({ additionalProperties: inside }), { AdditionalProperties: { Allows: true, Schema: text } });
  assert.deepEqual(given({ additionalProperties: false }), { AdditionalProperties: { Allows: false, Schema: null } });
  assert.deepEqual(given({ not: inside, anyOf: [inside] }), { AnyOf: [text], Not: text });
  assert.deepEqual(Object.keys(given({ properties: { b: inside, a: inside } })["Properties"] as object), ["a", "b"]);
});

test("rules and values are printed as the reference holds them", () => {
  assert.deepEqual(given({ "x-kubernetes-validations": [{ rule: "r" }] })["XValidations"], [
    { Rule: "r", Message: "", MessageExpression: "", Reason: null, FieldPath: "", OptionalOldSelf: null },
  ]);
  assert.match(printSchema({ default: { b: "<", a: 1 } }), /"Default":\{"a":1,"b":"\\u003c"\}/);
});
