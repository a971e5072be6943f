// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import { fitsIndented } from "./fits-indented.ts";
import { printJson } from "./json-text.ts";
import type { JsonValue } from "./json-value.ts";

const fits = (value: JsonValue): boolean => finish(fitsIndented(value, 2));

function nested(depth: number, value: JsonValue): JsonValue {
  let outer = value;
  for (let i = 0; i < depth; i++) outer = { a: outer };
  return outer;
}

const ones = Array.from({ length: 90_000 }, () => 1);
const object = { metadata: { name: "a", labels: { a: "b" } }, spec: { ports: [{ name: "http", port: 80 }] } };
const mebibyte = "x".repeat(1024 * 1024);
const rows: Record<string, { readonly reason: string; readonly value: JsonValue; readonly want: boolean }> = {
  Leaf: { reason: "nothing to indent", value: "a", want: true },
  Empty: { reason: "nothing to indent", value: [{}, []], want: true },
  "Long text": { reason: "no share of spaces", value: { text: mebibyte.repeat(31) }, want: true },
  "Too long": { reason: "longer than any text may become", value: Array(33).fill(mebibyte), want: false },
  "Many objects": { reason: "a list of real objects", value: { items: Array(20_000).fill(object) }, want: true },
  "Too many objects": { reason: "one line each is enough", value: { items: Array(200_000).fill(object) }, want: false },
  "Small items": { reason: "at usual depths", value: nested(2, Array(5_000).fill(object.spec)), want: true },
  Numbers: { reason: "more than enough to read, and mostly spaces", value: nested(4, ones), want: false },
  "Very deep numbers": { reason: "spaces only", value: nested(900, ones), want: false },
  "Deep but short": { reason: "a person may read it", value: nested(300, [1, 2]), want: true },
};
for (const [name, { reason, value, want }] of Object.entries(rows)) {
  test(`whether indented text is made: ${name}`, () => assert.equal(fits(value), want, reason));
}

// Without escapes, and without values that are not text and have more than one character.
const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom<JsonValue>(1, "", "text", {}, [], { hole: undefined as never }),
    fc.array(tie("tree"), { maxLength: 5 }),
    fc.dictionary(fc.constantFrom("a", "key", ""), tie("tree")),
  ),
}));

test("property: the length computed is the length of the text", () => {
  fc.assert(
    fc.property(tree, fc.integer({ min: 1, max: 10 }), (value, indent) => {
      const { length } = printJson(value, { indent });
      const line = printJson(value).length;
      const check = (most: number, times: number, short = 0): boolean =>
        finish(fitsIndented(value, indent, { short, length: most, times }));
      assert.ok(check(length, (length + 0.5) / line));
      assert.ok(check(length, 0, length));
      // A leaf is never indented.
      if (length === line) return;
      assert.ok(!check(length - 1, length));
      assert.ok(!check(length, (length - 0.5) / line));
    }),
  );
});

test("what is measured is measured in parts, and no longer than needed", () => {
  const parts = (value: JsonValue): number => [...fitsIndented(value, 2)].length;
  assert.ok(parts({ spec: { items: Array(90_000).fill(object) } }) > 10);
  // Of two million lists the first are enough.
  const large = Array(2_000_000).fill(ones);
  assert.ok(parts({ items: large }) < 100);
});
