// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import { load } from "js-yaml";
import type { JsonObject, JsonValue } from "../json/json-value.ts";
import { compareNaturally, printingYaml, printYaml } from "./print-yaml.ts";
import { yamlNumber } from "./yaml-scalar.ts";

/** The spec of an object full of awkward texts, keys and numbers, as kube-apiserver 1.36.3 wrote it. */
const written = readFileSync(new URL("testdata/written.yaml", import.meta.url), "utf8");
const sent = readFileSync(new URL("testdata/written.json", import.meta.url), "utf8");

test("an object is written as the reference writes it", () => {
  assert.equal(printYaml(JSON.parse(sent) as JsonValue), written);
});

const numbers: Record<string, number | bigint> = {
  "1": 1,
  "-1": -1,
  "1000000": 1e6,
  "9007199254740993": 9007199254740993n,
  "1.5": 1.5,
  "0.0001": 0.0001,
  "1e-07": 1e-7,
  "1e+21": 1e21,
  "1e+20": 1e20,
  "1.2345675e+06": 1234567.5,
};

for (const [text, value] of Object.entries(numbers)) {
  test(`the number ${text}`, () => assert.equal(yamlNumber(value), text));
}

test("keys come in natural order", () => {
  const keys = [".", "_x", "1", "9", "10", "A", "B", "a-b", "a.b", "a1", "a9", "a10", "a010", "ab", "b", "é"];
  const sorted = keys.toReversed().sort(compareNaturally);
  assert.deepEqual(
    sorted.filter((key) => key !== "a010"),
    keys.filter((key) => key !== "a010"),
  );
});

test("whatever is written is read again", () => {
  const text = fc.string({
    unit: fc.oneof(
      fc.constantFrom(..." \n\t:#-'\"|>?&*!%@`[]{},~.0123456789abcy\\\x85\u2028\u2029"),
      fc.string({ maxLength: 1, unit: "grapheme" }),
    ),
  });
  const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
    tree: fc.oneof(
      { depthSize: "small" },
      text,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(text, tie("tree"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(fc.dictionary(text, tree, { maxKeys: 4 }), (value) => {
      const plain = JSON.parse(JSON.stringify(value)) as JsonObject;
      assert.deepEqual(JSON.parse(JSON.stringify(load(printYaml(plain)))), plain);
    }),
    { numRuns: 500 },
  );
});

test("line breaks of YAML 1.1 alone are escaped, in keys too", () => {
  const value = { "a\u2028": "b\x85c", d: ["e\u2029", "f\u2028\ng"] };
  const text = '"a\\L": "b\\Nc"\nd:\n- "e\\P"\n- "f\\L\\ng"\n';
  assert.equal(printYaml(value), text);
  assert.deepEqual(load(text), value);
});

test("long texts are broken where a space is", () => {
  const long = `${"word ".repeat(40)}end`;
  const lines = printYaml({ key: long } as JsonObject).split("\n");
  assert.ok(lines.length > 2 && lines.every((line) => line.length < 90));
  assert.deepEqual(load(printYaml({ key: long })), { key: long });
});

test("the keys of a large object are put in order in parts", () => {
  const object = Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`key-${(i * 7919) % 20_000}`, ""]));
  const work = printingYaml(object);
  let parts = 1;
  while (work.next().done !== true) parts += 1;
  // The text has about twenty parts.
  assert.ok(parts > 200, `${parts} parts`);
});

test("documents are written in parts, however they are nested", () => {
  const items = Array.from({ length: 5_000 }, (_, i) => ({ name: `item ${i}`, size: i }));
  const documents: JsonValue[] = [
    { spec: { deep: { items } } },
    [items],
    { text: "a\n".repeat(100_000) },
    { text: "word ".repeat(50_000) },
    { text: '"\u{1f600}'.repeat(50_000) },
    { ["k".repeat(100_000)]: 1, ['"\n'.repeat(50_000)]: 2 },
  ];
  for (const document of documents) {
    const work = printingYaml(document);
    let parts = 1;
    let part = work.next();
    for (; !part.done; part = work.next()) parts += 1;
    assert.equal(part.value, printYaml(document));
    assert.ok(parts > 3, `${parts} parts for ${part.value.length} characters`);
    assert.deepEqual(load(part.value), document);
  }
});

test("the time to write a text with many line breaks grows with its length", () => {
  // A style that is looked for again behind each line break took 0.4 s for 20,000 of them, and the square of that.
  const text = `${"\n".repeat(1_000_000)}x`;
  assert.equal(printYaml({ text }).length, text.length + "text: |2-\n  \n".length);
});

test("keys keep their order and text its lines on request, and undefined members are left out", () => {
  const long = "word ".repeat(40).trim();
  const value = { b: long, a: { none: undefined }, c: ["true", 1] } as unknown as JsonObject;
  assert.equal(printYaml(value, { sortKeys: false, wrap: false }), `b: ${long}\na: {}\nc:\n- "true"\n- 1\n`);
});
