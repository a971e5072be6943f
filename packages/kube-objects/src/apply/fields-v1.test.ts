// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { JsonObject } from "../json/json-value.ts";
import { deepFreeze } from "../object/kube-object.ts";
import { printPaths } from "./apply-errors.ts";
import { emptySet, fieldSetOfPaths, fieldSetSize, leaf } from "./field-set.ts";
import { decodeFieldsV1, encodeFieldsV1, encodingFieldsV1 } from "./fields-v1.ts";

/** The paths of FieldsV1, as messages print them. */
const paths = (fields: JsonObject): string[] => printPaths(decodeFieldsV1(fields));
const again = (fields: JsonObject): JsonObject => encodeFieldsV1(decodeFieldsV1(fields));

test("fields and items are read; a node without children is a member", () => {
  const fields = {
    "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
    "f:spec": { "f:ports": { 'k:{"port":80}': { ".": {}, "f:name": {} }, 'v:"a"': {}, "i:0": {} } },
  };
  assert.deepEqual(paths(fields), [
    ".metadata.labels",
    ".metadata.labels.app",
    ".spec.ports[port=80]",
    '.spec.ports[="a"]',
    ".spec.ports[0]",
    ".spec.ports[port=80].name",
  ]);
  assert.deepEqual(again(fields), fields);
});

test("nothing below a name is the same as an empty object or null", () => {
  assert.deepEqual(again({ "f:a": null, "f:b": {}, "f:c": { ".": {} } }), { "f:a": {}, "f:b": {}, "f:c": {} });
  assert.equal(decodeFieldsV1({}), emptySet);
});

test("names of an unknown form are dropped", () => {
  assert.deepEqual(again({ "f:a": {}, "x:b": {}, "y:c": { "f:d": {} } }), { "f:a": {} });
});

test("two spellings of one item are one item with the fields of both", () => {
  const spec = { 'k:{"a":1}': { "f:x": {} }, 'k:{ "a": 1 }': { "f:y": {} } };
  assert.deepEqual(again({ "f:list": spec }), { "f:list": { 'k:{"a":1}': { "f:x": {}, "f:y": {} } } });
});

test("malformed names throw", () => {
  assert.throws(() => decodeFieldsV1({ a: {} }), { message: "key must be 2 characters long:" });
  assert.throws(() => decodeFieldsV1({ "": {} }), { message: "key must be 2 characters long:" });
  assert.throws(() => decodeFieldsV1({ "f:a": { spec: {} } }), { message: "missing colon: spec" });
  assert.throws(() => decodeFieldsV1({ "f:a": 1 }), { message: 'expected an object below "f:a"' });
  assert.throws(() => decodeFieldsV1({ "k:[]": {} }), { message: 'expected an object in "k:[]"' });
});

test("names of fields may be anything, also members of every object", () => {
  const fields = { "f:": {}, "f:__proto__": { "f:a": {} }, "f:constructor": {}, "f:é": {} };
  assert.deepEqual(Object.keys(again(fields)), ["f:", "f:__proto__", "f:constructor", "f:é"]);
  assert.deepEqual(paths(fields), [".", ".constructor", ".é", ".__proto__.a"]);
});

test("siblings are encoded in the order of the reference: itself, fields by name, items", () => {
  const fields = { "i:1": {}, "f:b": {}, 'v:"x"': {}, "f:a": {}, 'k:{"n":1}': {}, ".": {} };
  const encoded = again({ "f:list": fields });
  assert.deepEqual(Object.keys(encoded["f:list"] as JsonObject), [".", "f:a", "f:b", 'k:{"n":1}', 'v:"x"', "i:1"]);
});

test("an encoding is frozen and kept, and so is the decoding of a frozen value", () => {
  const set = fieldSetOfPaths([["a", "b"]]);
  const encoded = encodeFieldsV1(set);
  assert.ok(Object.isFrozen(encoded) && Object.isFrozen(encoded["f:a"]));
  assert.equal(encodeFieldsV1(set), encoded);
  assert.equal(decodeFieldsV1(encoded), set);
  const frozen = deepFreeze({ "f:x": {} }) as JsonObject;
  assert.equal(decodeFieldsV1(frozen), decodeFieldsV1(frozen));
});

test("a value that can change is decoded each time", () => {
  const fields: Record<string, JsonObject> = { "f:x": {} };
  assert.equal(fieldSetSize(decodeFieldsV1(fields)), 1);
  fields["f:y"] = {};
  assert.equal(fieldSetSize(decodeFieldsV1(fields)), 2);
});

test("leaves are one shared node", () => {
  const set = decodeFieldsV1({ "f:a": {}, "f:b": null });
  assert.equal(set.fields?.get("a"), leaf);
  assert.equal(set.fields?.get("b"), leaf);
});

test("a large set is encoded in parts to the same value", () => {
  const names = Array.from({ length: 2500 }, (_, index) => `n${index}`);
  const items = Object.fromEntries(names.map((name) => [`k:{"name":"${name}"}`, { ".": {}, "f:x": {} }]));
  const fields = { "f:map": Object.fromEntries(names.map((name) => [`f:${name}`, {}])), "f:list": items };
  const inParts = finish(encodingFieldsV1(decodeFieldsV1(structuredClone(fields))));
  const atOnce = encodeFieldsV1(decodeFieldsV1(structuredClone(fields)));
  assert.equal(JSON.stringify(inParts), JSON.stringify(atOnce));
  assert.deepEqual(inParts, fields);
});
