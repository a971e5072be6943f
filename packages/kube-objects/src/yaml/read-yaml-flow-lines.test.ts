// SPDX-License-Identifier: Apache-2.0
// What is read was compared with sigs.k8s.io/yaml 1.6.0, which kubectl reads files with.
import assert from "node:assert/strict";
import { test } from "node:test";
import { constructFromEvents } from "js-yaml";
import { readFlowEvents } from "./read-yaml.ts";

const read = (source: string): unknown => {
  const { events, text } = readFlowEvents(source, { maxDepth: 100 });
  assert.equal(text.length, source.length, "each character stays where it was");
  return constructFromEvents(events, { source: text })[0];
};

const accepted: Readonly<Record<string, readonly [text: string, value: unknown]>> = {
  "a tab after a colon": ["a: {b:\t1}", { a: { b: 1 } }],
  "a tab after a comma": ["a: {b: 1,\tc: 2}", { a: { b: 1, c: 2 } }],
  "lines that begin with tabs": ["a: {\n\tb: 1,\n\tc: 2\n}", { a: { b: 1, c: 2 } }],
  "an end below the key": ["a: [\n  1,\n]\nb: 2", { a: [1], b: 2 }],
  "items without indentation": ["x:\n  a: [\n1,\n2]", { x: { a: [1, 2] } }],
  "an end below a key of an item": [
    'x:\n  - args: [\n    "a",\n    "b" # c\n  ]\n    z: 1',
    { x: [{ args: ["a", "b"], z: 1 }] },
  ],
  "collections in collections, and several": [
    "a: {b: [\n1\n], c: {\nd: 2\n}}\ne: [\n3\n]\nf: |\n  [\n  x\n",
    { a: { b: [1], c: { d: 2 } }, e: [3], f: "[\nx\n" },
  ],
  comments: ["a: [1, # x\n# y\n2\n# ]\n]", { a: [1, 2] }],
  "quotes with what looks like syntax": [
    "a: [\n  \"x # y\",\n  'it''s]',\n  it's,\n  \"q\\\"],\"\n]",
    { a: ["x # y", "it's]", "it's", 'q"],'] },
  ],
};
for (const [what, [text, value]] of Object.entries(accepted)) {
  test(`indentation inside flow collections does not matter: ${what}`, () => assert.deepEqual(read(text), value));
}

for (const text of [
  "a: b\n\tc",
  "\ta: 1",
  "a:\n\tb: 1",
  "a:\n  b: {c: 1}\n\td: 2",
  "a: [1\n]x",
  "a: [\n1",
  "a: {b: 1\n",
]) {
  test(`other mistakes stay mistakes: ${JSON.stringify(text)}`, () => assert.throws(() => read(text), /\(\d+:\d+\)/));
}

// kubectl folds these; they are refused, and never read as another text.
for (const text of ['x:\n  a: {b: "q,\n r"}', "x:\n  a: {b: q\nr}"]) {
  test(`a scalar over several lines is not joined: ${JSON.stringify(text)}`, () =>
    assert.throws(() => read(text), /deficient indentation \(3:/));
}

test("a text with many such collections is read in bounded time, or refused", () => {
  const some = Array.from({ length: 50 }, (_, at) => `k${at}: [\n${at}\n]\n`).join("");
  assert.equal(Object.keys(read(some) as object).length, 50);
  const many = "- [\n1\n]\n".repeat(200_000);
  assert.throws(() => read(many), /deficient indentation/);
});
