// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareUtf8, sortedKeys, utf8Length } from "./utf8.ts";

const smile = "\u{1F600}";
const sign = (value: number): number => Math.sign(value);

const ordered: readonly (readonly [string, string, string])[] = [
  ["the empty string is first", "", "a"],
  ["a prefix is before what it begins", "ab", "abc"],
  ["capital letters are before small ones", "Z", "a"],
  ["digits are ordered as text", "10", "9"],
  ["two bytes are after one", "z", "ä"],
  ["the last character before the surrogates is before U+E000", "\ud7ff", "\ue000"],
  ["a character outside the basic plane is after U+E000", "\ue000", smile],
  ["a character outside the basic plane is after U+FFFF", "\uffff", smile],
  ["the difference comes after an equal part with such a character", `${smile}a`, `${smile}b`],
  ["characters outside the basic plane are ordered by code points", "\u{10000}", "\u{10FFFF}"],
];
for (const [name, first, second] of ordered) {
  test(`order of UTF-8 bytes: ${name}`, () => {
    assert.equal(sign(compareUtf8(first, second)), -1);
    assert.equal(sign(compareUtf8(second, first)), 1);
    assert.equal(compareUtf8(first, first), 0);
  });
}

test("property: the order is that of the bytes", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.equal(sign(compareUtf8(a, b)), Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test("keys are sorted by bytes, those that look like integers too, and the object is not changed", () => {
  const object = Object.freeze({ b: 1, [smile]: 2, "\uffff": 3, 10: 4, 9: 5, a: 6 });
  assert.deepEqual(sortedKeys(object), ["10", "9", "a", "b", "\uffff", smile]);
  assert.deepEqual(sortedKeys(JSON.parse('{"b":1,"__proto__":2}') as object), ["__proto__", "b"]);
  assert.deepEqual(sortedKeys([]), []);
});

test("the length is that in bytes", () => {
  const lengths = ["", "a", "ä", "€", smile, "e\u0301"].map(utf8Length);
  assert.deepEqual(lengths, [0, 1, 2, 3, 4, 3]);
});
