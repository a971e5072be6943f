// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  characterAt,
  indexOfText,
  lastIndexOfText,
  replaceText,
  splitText,
  substringOf,
  textSize,
  trimSpace,
} from "./text.ts";
import { isError, Meter } from "./value.ts";

const texts = fc.string({
  unit: fc.constantFrom("a", "b", "\u00e9", "\uffff", "\u{1f600}", "\u{10ffff}"),
  maxLength: 8,
});
const points = (text: string): string[] => Array.from(text);

test("the size is that of the code points", () => {
  fc.assert(fc.property(texts, (text) => assert.equal(textSize(text), points(text).length)));
});

test("a surrogate without its other half is one character", () => {
  assert.equal(textSize("\ud83d"), 1);
  assert.equal(textSize("\ud83da\ude00"), 3);
});

test("a character is found by its index", () => {
  fc.assert(
    fc.property(texts, (text) => {
      const all = points(text);
      for (const [index, point] of all.entries()) assert.equal(characterAt(text, BigInt(index)), point);
      assert.equal(characterAt(text, BigInt(all.length)), "");
      assert.ok(isError(characterAt(text, BigInt(all.length + 1))));
    }),
  );
});

/** The first index from which the code points of a text are those of a part. */
function naiveIndex(text: string, part: string, from: number): number {
  const all = points(text);
  const sought = points(part);
  for (let at = from; at + sought.length <= all.length; at++) {
    if (sought.every((point, index) => all[at + index] === point)) return at;
  }
  return -1;
}

test("a part is found where its code points are", () => {
  const parts = texts.filter((part) => part !== "");
  fc.assert(
    fc.property(texts, parts, fc.nat(8), (text, part, from) => {
      assert.equal(indexOfText(text, part, BigInt(from)), BigInt(naiveIndex(text, part, from)));
    }),
  );
});

test("the last part is the one that is first from behind", () => {
  const parts = texts.filter((part) => part !== "");
  const reversed = (text: string): string => points(text).reverse().join("");
  fc.assert(
    fc.property(texts, parts, (text, part) => {
      const behind = naiveIndex(reversed(text), reversed(part), 0);
      const expected = behind < 0 ? -1 : textSize(text) - textSize(part) - behind;
      assert.equal(lastIndexOfText(text, part, undefined), BigInt(expected));
    }),
  );
});

test("a substring has the code points of its range", () => {
  fc.assert(
    fc.property(texts, fc.nat(9), fc.nat(9), (text, start, end) => {
      const found = substringOf(text, BigInt(start), BigInt(end));
      const isValid = start <= end && end <= textSize(text);
      assert.equal(isError(found) ? undefined : found, isValid ? points(text).slice(start, end).join("") : undefined);
    }),
  );
});

test("the parts of a text joined are the text", () => {
  fc.assert(
    fc.property(texts, texts, fc.integer({ min: -1, max: 5 }), (text, by, limit) => {
      const parts = splitText(text, by, BigInt(limit));
      if (limit >= 0) assert.ok(parts.length <= limit);
      if (limit !== 0) assert.equal(parts.join(by), text);
    }),
  );
});

test("a text with a part replaced by itself is the text", () => {
  fc.assert(
    fc.property(texts, texts, fc.integer({ min: -1, max: 5 }), (text, part, limit) => {
      assert.equal(replaceText(text, { old: part, by: part, limit: BigInt(limit) }, new Meter(100_000)), text);
    }),
  );
});

test("what a replacement writes is work", () => {
  const meter = new Meter(10_000);
  replaceText("a".repeat(100), { old: "a", by: "b".repeat(160), limit: -1n }, meter);
  assert.ok(meter.left < 10_000 - 100 * 10, `${meter.left} of 10000 are left`);
});

test("a million spaces are trimmed in one pass", () => {
  const spaces = " ".repeat(1_000_000);
  assert.equal(trimSpace(`${spaces}a${spaces}b${spaces}`), `a${spaces}b`);
});
