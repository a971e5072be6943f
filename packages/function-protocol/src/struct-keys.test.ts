// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Struct } from "./struct.ts";

// What the tables remember must never show: these tests only see that names and values come back as they went in.

const roundTrip = (object: object): unknown => Struct.fromBytes(Struct.from(object).bytes).value;

const texts: Record<string, string> = {
  "an empty name": "",
  "one character": "a",
  "a size that is a multiple of four": "metadata",
  "the longest that is remembered": "x".repeat(32),
  "one more than that": "x".repeat(33),
  "a length that takes two bytes": "x".repeat(200),
  "as many characters as a remembered one, but more bytes": `${"x".repeat(31)}é`,
  "characters outside the basic plane": "😀😀",
  "a null character": "a\0b",
};

for (const [reason, text] of Object.entries(texts)) {
  test(`a name and a value come back twice the same: ${reason}`, () => {
    for (let turn = 0; turn < 2; turn++) assert.deepEqual(roundTrip({ [text]: text }), { [text]: text });
  });
}

test("names that share a slot do not stand in for each other", () => {
  // Same length, first, middle and last character.
  const alike = ["aXcdefg", "aYcdefg", "abcdXfg", "abcdYfg"];
  for (let turn = 0; turn < 3; turn++) {
    for (const text of alike) assert.deepEqual(roundTrip({ [text]: text }), { [text]: text });
  }
});

test("a name that is ASCII in the first place and not in the second is a different key", () => {
  for (const text of ["Aaa", "Äa", "Aaa", "Äa"]) assert.deepEqual(roundTrip({ [text]: text }), { [text]: text });
});

test("more names than are remembered leave every object right", () => {
  const flood = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`name-${i}`, `value-${i}`]));
  for (let turn = 0; turn < 2; turn++) {
    assert.deepEqual(roundTrip(flood), flood);
    assert.deepEqual(roundTrip({ metadata: { name: "a" } }), { metadata: { name: "a" } });
  }
});

test("any names and values come back, whatever was seen before", () => {
  const text = fc.string({ unit: "grapheme", maxLength: 40 });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 20 }), (members) => {
      const object = Object.fromEntries(members);
      assert.deepEqual(roundTrip(object), object);
    }),
    { numRuns: 500 },
  );
});
