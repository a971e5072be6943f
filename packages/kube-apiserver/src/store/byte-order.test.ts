// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { byteOrdered } from "./byte-order.ts";

const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme-ascii" }));

test("byte-ordered text sorts as its UTF-8 bytes do", () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      const [x, y] = [byteOrdered(a), byteOrdered(b)];
      const order = x < y ? -1 : x > y ? 1 : 0;
      assert.equal(order, Buffer.compare(Buffer.from(a), Buffer.from(b)));
    }),
  );
});

test("the case JavaScript gets wrong: beyond U+FFFF sorts behind U+FFFD", () => {
  assert.ok("\u{1F600}" < "\uFFFD", "JavaScript's own order");
  assert.ok(byteOrdered("\u{1F600}") > byteOrdered("\uFFFD"));
});

test("prefixes stay prefixes", () => {
  fc.assert(
    fc.property(text, text, (a, b) => {
      assert.ok(byteOrdered(a + b).startsWith(byteOrdered(a)));
    }),
  );
});
