// SPDX-License-Identifier: Apache-2.0
// ConfigMaps and Secrets. The texts are those of kube-apiserver 1.36.
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish, type Work } from "@purlin/base";
import type { KindRules } from "@purlin/kube-apiserver/kinds";
import { fieldErrorText } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { configKeyProblems, configMapRules, secretRules } from "./config-data.ts";

const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const keys: Readonly<Record<string, readonly string[]>> = {
  "a.B-c_1": [],
  ".hidden": [],
  "...": ["must not start with '..'"],
  "..a": ["must not start with '..'"],
  ".": ["must not be '.'"],
  "..": ["must not be '..'"],
  "": [keyText],
  "a/b": [keyText],
  ä: [keyText],
  ["k".repeat(253)]: [],
  ["k".repeat(254)]: ["must be no more than 253 characters"],
};

for (const [key, want] of Object.entries(keys)) {
  test(`the key ${JSON.stringify(key).slice(0, 30)}`, () => {
    assert.deepEqual(configKeyProblems(key), want);
  });
}

const errorsOf = ({ validatingRest }: KindRules, object: JsonObject): string[] =>
  validatingRest === undefined ? [] : finish(validatingRest(object)).map(fieldErrorText);
const mapErrors = (object: JsonObject): string[] => errorsOf(configMapRules, object);
const secretErrors = (object: JsonObject): string[] => errorsOf(secretRules, object);
const base64 = (bytes: number): string => Buffer.alloc(bytes).toString("base64");

test("a ConfigMap has valid keys, each in one of its two members", () => {
  assert.deepEqual(mapErrors({ data: { a: "1" }, binaryData: { b: "MQ==" } }), []);
  assert.deepEqual(mapErrors({ data: { a: "1", "b c": "" }, binaryData: { a: "", "d/": "" } }), [
    `data[b c]: Invalid value: "b c": ${keyText}`,
    'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    `binaryData[d/]: Invalid value: "d/": ${keyText}`,
  ]);
});

test("the values of a ConfigMap have a mebibyte together, in bytes", () => {
  assert.deepEqual(mapErrors({ data: { a: "x".repeat(1_048_575) }, binaryData: { b: base64(1) } }), []);
  assert.deepEqual(mapErrors({ data: { a: "x".repeat(1_048_575) }, binaryData: { b: base64(2) } }), [
    "[]: Too long: may not be more than 1048576 bytes",
  ]);
  assert.deepEqual(mapErrors({ data: { a: "é".repeat(524_289) } }), [
    "[]: Too long: may not be more than 1048576 bytes",
  ]);
});

test("the values of a Secret have a mebibyte together, decoded", () => {
  assert.deepEqual(secretErrors({ data: { a: base64(1_048_576) } }), []);
  assert.deepEqual(secretErrors({ data: { a: base64(1_048_576), b: base64(1), "c d": "" } }), [
    `data[c d]: Invalid value: "c d": ${keyText}`,
    "data: Too long: may not be more than 1048576 bytes",
  ]);
});

test("an immutable object stays as it is", () => {
  const change = (now: JsonObject, old: JsonObject): string[] =>
    (configMapRules.validateChange?.(now, old, "") ?? []).map(fieldErrorText);
  const fixed = (name: string): string => `${name}: Forbidden: field is immutable when \`immutable\` is set`;
  const old = { immutable: true, data: { a: "1" } };
  assert.deepEqual(
    change({ immutable: true, data: { a: "1" }, binaryData: {} }, old),
    [],
    "an empty member is as good as none",
  );
  assert.deepEqual(change({ data: { a: "2" }, binaryData: { b: "" } }, old), [
    fixed("immutable"),
    fixed("data"),
    fixed("binaryData"),
  ]);
  assert.deepEqual(change({ immutable: true, data: { a: "2" } }, { data: { a: "1" } }), [], "from now on");
  assert.deepEqual(
    (
      secretRules.validateChange?.(
        { type: "b", immutable: true },
        { type: "a", immutable: true, data: { x: "" } },
        "",
      ) ?? []
    ).map(fieldErrorText),
    ['type: Invalid value: "b": field is immutable', fixed("data")],
  );
});

function* none(): Work<undefined> {}

test("texts for writing become data, and win over it", () => {
  const decoded = (object: JsonObject): unknown => finish(secretRules.decodingFields?.(object) ?? none());
  assert.deepEqual(decoded({ data: { a: "b2xk", b: "eA==" }, stringData: { a: "new", c: "ü" } }), {
    data: { a: "bmV3", b: "eA==", c: "w7w=" },
  });
  const plain = { data: { a: "b2xk" } };
  assert.equal(decoded(plain), plain);
  assert.deepEqual(decoded({ stringData: {} }), { data: {} });
  assert.deepEqual(
    decoded(JSON.parse('{"stringData":{"__proto__":"x"}}')),
    JSON.parse('{"data":{"__proto__":"eA=="}}'),
  );
});

test("Secrets can be selected by their type", () => {
  assert.equal(secretRules.fields?.["type"]?.({ type: "Opaque" }), "Opaque");
});
