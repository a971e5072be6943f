// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import { findStatusError } from "../errors/status-error.ts";
import type { Fractions } from "../json/json-reader.ts";
import { parseJsonStrict } from "../json/json-text.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { decodeJsonPatch } from "./decode-patch.ts";
import { applyingWrittenPatch, jsonPatchedText } from "./json-patch.ts";
import { markNumbers, unmarkingNumbers, type WrittenValue } from "./patch-document.ts";

const applyWrittenPatch = (...patch: Parameters<typeof applyingWrittenPatch>): WrittenValue =>
  finish(applyingWrittenPatch(...patch));
const unmarkNumbers = (value: JsonValue): WrittenValue => finish(unmarkingNumbers(value));

const document: JsonObject = { kind: "Deployment", spec: { replicas: 1, ratio: 1.5, list: [1, 2] } };
const operation = (op: string, path: string, value: string): string =>
  `[{"op":"${op}","path":"${path}","value":${value}}]`;

const plain = (value: Fractions | string | undefined): unknown =>
  typeof value === "object" ? Object.fromEntries([...value].map(([key, below]) => [key, plain(below)])) : value;

const results: Record<string, { reason: string; patch: string; path: string; fractions?: object; value: JsonValue }> = {
  Added: {
    reason: "a number keeps how it was written",
    patch: operation("add", "/spec/replicas", "2.0"),
    path: "replicas",
    fractions: { spec: { replicas: "2.0" } },
    value: 2,
  },
  Same: {
    reason: "it is written again although it is worth the same",
    patch: operation("replace", "/spec/replicas", "1e0"),
    path: "replicas",
    fractions: { spec: { replicas: "1e0" } },
    value: 1,
  },
  Usual: {
    reason: "this is how the server writes it",
    patch: operation("add", "/spec/ratio", "2.5"),
    path: "ratio",
    value: 2.5,
  },
  Below: {
    reason: "wherever it is in what is added",
    patch: operation("add", "/spec/new", '{"a":[0,{"b":3.0}],"c":"3.0"}'),
    path: "new",
    fractions: { spec: { new: { a: { 1: { b: "3.0" } } } } },
    value: { a: [0, { b: 3 }], c: "3.0" },
  },
  Shifted: {
    reason: "a later operation moves it on",
    patch: `${operation("add", "/spec/list/0", "5.0").slice(0, -1)},${operation("add", "/spec/list/0", "6").slice(1)}`,
    path: "list",
    fractions: { spec: { list: { 1: "5.0" } } },
    value: [6, 5, 1, 2],
  },
  Copied: {
    reason: "a copy is written the same",
    patch: `${operation("add", "/spec/replicas", "7.0").slice(0, -1)},{"op":"copy","from":"/spec/replicas","path":"/spec/c"}]`,
    path: "c",
    fractions: { spec: { replicas: "7.0", c: "7.0" } },
    value: 7,
  },
  Removed: {
    reason: "removed numbers are not reported",
    patch: `${operation("add", "/spec/ratio", "7.0").slice(0, -1)},{"op":"replace","path":"/spec/ratio","value":7}]`,
    path: "ratio",
    value: 7,
  },
};

for (const [name, { reason, patch, path, fractions, value }] of Object.entries(results)) {
  test(`numbers of a patch as they are written: ${name}`, () => {
    const result = applyWrittenPatch(document, decodeJsonPatch(patch, "Strict").patch);
    assert.deepEqual(((result.value as JsonObject)["spec"] as JsonObject)[path], value, reason);
    assert.deepEqual(plain(result.fractions), fractions, reason);
  });
}

// Answers of kube-apiserver 1.36.3, which compares the texts.
const tests: readonly (readonly [string, string, string, boolean])[] = [
  ["an integer as the server writes it", "/spec/replicas", "1", true],
  ["the same with a fraction", "/spec/replicas", "1.0", false],
  ["the same with an exponent", "/spec/replicas", "1e0", false],
  ["a fraction as the server writes it", "/spec/ratio", "1.5", true],
  ["a fraction with a zero more", "/spec/ratio", "1.50", false],
  ["an item of a list", "/spec/list", "[1.0,2]", false],
  ["a list as it is", "/spec/list", "[1, 2]", true],
];

for (const [reason, path, value, passes] of tests) {
  test(`test compares numbers as texts: ${reason}`, () => {
    const run = (): unknown =>
      applyWrittenPatch(document, decodeJsonPatch(operation("test", path, value), "Ignore").patch);
    if (passes) assert.doesNotThrow(run);
    else assert.throws(run, (error) => findStatusError(error)?.status.code === 422);
  });
}

test("a result is shown with its numbers as they were written", () => {
  const { patch } = decodeJsonPatch(operation("add", "/spec/replicas", "1.0"), "Strict");
  assert.equal(
    jsonPatchedText(document, patch),
    '{"kind":"Deployment","spec":{"list":[1,2],"ratio":1.5,"replicas":1.0}}',
  );
});

test("keys of every name are data, and a text that looks like a number is a text", () => {
  const { value, fractions } = parseJsonStrict('{"__proto__":{"x":1.0},"constructor":"1.0","0":2.0}');
  const marked = markNumbers(value, fractions);
  assert.deepEqual(unmarkNumbers(marked), { value, fractions });
  assert.equal(unmarkNumbers(value).value, value, "without marks it is the same object");
});

test("property: numbers come back as they were written, whatever is around them", () => {
  const literal = fc.constantFrom(
    "1.0",
    "2.50",
    "1e3",
    "-3.0E+2",
    "7",
    "1.5",
    '"1.0"',
    "null",
    '"\\ud800"',
    '"\\u0000"',
  );
  const { text } = fc.letrec<{ text: string }>((tie) => ({
    text: fc.oneof(
      { depthSize: "small" },
      literal,
      fc.array(tie("text"), { maxLength: 4 }).map((items) => `[${items.join(",")}]`),
      fc
        .dictionary(fc.constantFrom("a", "b", "0", "__proto__"), tie("text"))
        .map((members) => `{${Object.entries(members).map(([key, one]) => `${JSON.stringify(key)}:${one}`)}}`),
    ),
  }));
  fc.assert(
    fc.property(text, (json) => {
      const { value, fractions } = parseJsonStrict(`[${json}]`);
      assert.deepEqual(unmarkNumbers(markNumbers(value, fractions)).value, value);
    }),
    { numRuns: 500 },
  );
});
