// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { compareUtf8, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import fc from "fast-check";
import { hashingContent } from "./revisions-controller.ts";

const hashOf = (of: Parameters<typeof hashingContent>[0]): string => finish(hashingContent(of));

const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;
const content = (spec: JsonValue): Parameters<typeof hashOf>[0] => ({ labels: {}, annotations: {}, spec: { spec } });

function reversed(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(reversed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}

/** As one text. The keys of objects that JavaScript orders by itself, which are integers, come first. */
function textOf(value: JsonValue): string {
  const sorted = (_key: string, one: unknown): unknown =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).sort(([a], [b]) => compareUtf8(a, b)))
      : one;
  return JSON.stringify(value, sorted);
}

test("the hash is that of the JSON text with the keys in order: the revisions that are stored keep theirs", () => {
  const odd = { b: [], a: {}, "10": [{}], "9": null, "": [1, [2]], é: "\u2028<", z: -0, __proto: 1e21 };
  const check = (value: JsonValue): void => {
    const of = content(value);
    assert.equal(hashOf(of), createHash("sha256").update(textOf(of)).digest("hex"));
  };
  check(odd);
  check("x".repeat(200_000));
  const keys = [
    "10",
    "9",
    "01",
    "-1",
    "1.5",
    "1e3",
    "4294967294",
    "4294967295",
    "4294967296",
    "\u{1F600}",
    "\uFF5E",
    "",
    "a",
  ];
  check(Object.fromEntries(keys.map((key) => [key, 1])));
  fc.assert(
    fc.property(fc.dictionary(fc.oneof(fc.constantFrom(...keys), fc.nat().map(String), fc.string()), json), check),
  );
  fc.assert(fc.property(json, check));
});

test("the hash of a large content is made in parts", () => {
  const hashing = hashingContent(content(Array.from({ length: 100_000 }, (_, i) => `${i}`)));
  let parts = 1;
  while (!hashing.next().done) parts++;
  assert.ok(parts > 100, `${parts} parts`);
});

test("the keys of a large map are put in order in parts", () => {
  const keys = Array.from({ length: 100_000 }, (_, i) => `k${(i * 7919) % 100_000}`);
  const hashing = hashingContent(content(Object.fromEntries(keys.map((key) => [key, true]))));
  let parts = 1;
  while (!hashing.next().done) parts++;
  // The values alone are 390 parts.
  assert.ok(parts > 1000, `${parts} parts`);
});

test("the order of keys does not matter", () => {
  fc.assert(fc.property(json, (value) => hashOf(content(value)) === hashOf(content(reversed(value)))));
});

test("any difference does", () => {
  fc.assert(
    fc.property(json, json, (a, b) => {
      const same = JSON.stringify(reversed(reversed(a))) === JSON.stringify(reversed(reversed(b)));
      fc.pre(!same && JSON.stringify(reversed(a)) !== JSON.stringify(b));
      try {
        assert.deepEqual(a, b);
        return true;
      } catch {
        return hashOf(content(a)) !== hashOf(content(b));
      }
    }),
  );
});

test("what is a label is not what is an annotation", () => {
  const labelled = hashOf({ labels: { a: "b" }, annotations: {}, spec: {} });
  assert.notEqual(labelled, hashOf({ labels: {}, annotations: { a: "b" }, spec: {} }));
});
