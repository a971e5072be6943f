// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import { printJson } from "./json-text.ts";
import type { JsonValue } from "./json-value.ts";
import { printingJson } from "./printing-json.ts";

test("a large object is printed in parts of about as many characters", () => {
  const parts = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`${i}`, "x".repeat(50_000)]));
  const printed: string[] = [];
  let count = 1;
  for (const work = printingJson({ parts }, {}, (part) => printed.push(part)); work.next().done !== true; ) count += 1;
  assert.ok(count >= 50, `${count} parts`);
  assert.ok(Math.max(...printed.map(({ length }) => length)) < 120_000);
});

test("a large object is printed in parts on one line at any depth, and whatever is beside it", () => {
  const labels = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, "value"]));
  let deep: JsonValue = { labels, text: "x".repeat(100_000) };
  for (let depth = 0; depth < 50; depth++) deep = { before: [1, 2], spec: deep };
  for (const value of [{ spec: { template: { labels } } }, { spec: [{ labels }] }, deep]) {
    const lengths: number[] = [];
    let length = 0;
    const work = printingJson(value, {}, (text) => (length += text.length));
    for (let isDone = false; !isDone; length = 0) {
      isDone = work.next().done === true;
      lengths.push(length);
    }
    assert.ok(lengths.length > 10 && Math.max(...lengths) < 200_000, `${lengths}`);
  }
});

test("a large item of an indented list is printed in parts", () => {
  const items = Array.from({ length: 20_000 }, (_, i) => ({ name: `n${i}` }));
  let count = 1;
  for (const work = printingJson({ items: [{ spec: { items } }, {}] }, { indent: 2 }, () => {}); !work.next().done; )
    count++;
  assert.ok(count > 50, `${count} parts`);
});

const documents: Readonly<Record<string, JsonValue>> = {
  "a list": { kind: "List", items: [{ a: "<x>\n", b: [1, 2n ** 60n] }, {}, [], null, "text"], "<name>": { c: [] } },
  "lists of one item and none": { items: [{ a: [1, 2] }], none: [], empty: {} },
  "large objects": {
    kind: "<>",
    data: Object.fromEntries(
      Array.from({ length: 5000 }, (_, i) => [`key-<${i}>`, i % 7 === 0 ? { a: [i, "\n"] } : `${i}`]),
    ),
    holes: { ...Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`a${i}`, i % 2])), a0: undefined as never },
    few: Object.fromEntries(Array.from({ length: 64 }, (_, i) => [i, 2n ** 60n])),
  },
  "large items": {
    items: [
      {
        spec: {
          items: Array.from({ length: 2000 }, (_, i) => ({ name: `<${i}>`, empty: {}, none: [] })),
          text: "a\nb",
        },
      },
      Array.from({ length: 300 }, (_, i) => [i, null, { hole: undefined as never, i }]),
      { small: [1, 2] },
    ],
  },
  "no object": [1, { a: [1, 2] }],
  "an empty object": {},
};
for (const [name, document] of Object.entries(documents)) {
  test(`a document printed in parts is as when it is printed at once: ${name}`, () => {
    for (const options of [{}, { indent: 2 }, { htmlSafe: true }, { indent: 2, htmlSafe: true }]) {
      let text = "";
      finish(printingJson(document, options, (part) => (text += part)));
      assert.equal(text, printJson(document, options));
    }
  });
}

/** A value, and how often it is put into lists and objects. */
const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
  tree: fc.oneof(
    { depthSize: "medium" },
    fc.constantFrom<JsonValue>(null, true, -1.5, 2n ** 60n, "", "a\n", "<&>\u2028", {}, [], {
      hole: undefined as never,
    }),
    fc.array(tie("tree"), { maxLength: 5 }),
    fc.dictionary(fc.string(), tie("tree"), { maxKeys: 5 }),
  ),
}));
const wide = fc
  .tuple(tree, fc.integer({ min: 200, max: 400 }), fc.boolean())
  .map(([value, count, isList]): JsonValue => {
    const values = Array.from({ length: count }, (_, i) => (i % 3 === 0 ? value : i));
    return isList ? values : Object.fromEntries(values.map((one, i) => [`<${i}>`, one]));
  });
const deep = fc.tuple(wide, fc.integer({ min: 0, max: 900 }), tree).map(([inner, depth, beside]): JsonValue => {
  let value = inner;
  for (let i = 0; i < depth; i++) value = i % 3 === 0 ? [value] : { a: value, b: i % 100 === 1 ? beside : i };
  return value;
});

test("property: values printed in parts are as when they are printed at once, deep and wide", () => {
  const options = fc.record({ indent: fc.integer({ min: 0, max: 10 }), htmlSafe: fc.boolean() });
  fc.assert(
    fc.property(fc.oneof(tree, wide, deep), options, (value, chosen) => {
      let text = "";
      finish(printingJson(value, chosen, (part) => (text += part)));
      assert.ok(text === printJson(value, chosen));
    }),
    { numRuns: 200 },
  );
});

test("indented text of any depth is printed in parts, and none is long", () => {
  let deepList: JsonValue = Array.from({ length: 2_000 }, () => 1);
  for (let depth = 0; depth < 900; depth++) deepList = { a: deepList };
  const wideList = Array.from({ length: 20_000 }, (_, i) => Array.from({ length: 100 }, () => i));
  for (const value of [deepList, { spec: deepList }, [wideList], { a: { b: wideList } }]) {
    let size = 0;
    let longest = 0;
    const work = printingJson(value, { indent: 2 }, (text) => (size += text.length));
    while (work.next().done !== true) {
      longest = Math.max(longest, size);
      size = 0;
    }
    assert.ok(longest > 0 && longest < 1024 * 1024, `${longest} characters`);
  }
});
