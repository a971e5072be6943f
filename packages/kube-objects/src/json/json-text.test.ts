// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import fc from "fast-check";
import { goJson, goQuote } from "./go-text.ts";
import { type Fractions, JsonSyntaxError } from "./json-reader.ts";
import { maxJsonDepth, parseJson, parseJsonStrict, parsingJson, printJson, scanJson } from "./json-text.ts";
import { type JsonValue, jsonEqual } from "./json-value.ts";
// Observed from the decoder of the reference server (sigs.k8s.io/json), printed again with its encoder.
import texts from "./testdata/json-texts.json" with { type: "json" };

interface Observed {
  readonly text: string;
  readonly printed?: string;
  readonly strict?: readonly string[];
  readonly error?: string;
}

for (const row of texts as readonly Observed[]) {
  test(`reads ${JSON.stringify(row.text)} as the reference does`, () => {
    if (row.error !== undefined) {
      assert.throws(() => parseJson(row.text), { name: "JsonSyntaxError", message: row.error });
      assert.throws(() => parseJsonStrict(row.text), { name: "JsonSyntaxError", message: row.error });
      return;
    }
    const { value, duplicates } = parseJsonStrict(row.text);
    assert.equal(goJson(value), row.printed);
    assert.deepEqual(
      duplicates.map((path) => `duplicate field ${goQuote(path)}`),
      row.strict ?? [],
    );
    assert.deepEqual(parseJson(row.text), value);
    assert.deepEqual(parseJson(printJson(value)), value, "what is printed reads back the same");
  });
}

test("int64 beyond 2^53 becomes bigint and nothing else does", () => {
  assert.deepEqual(parseJson("[9007199254740993,9007199254740991,1.5,12345678901234567.5]"), [
    9007199254740993n,
    9007199254740991,
    1.5,
    12345678901234568,
  ]);
});

test("a key called __proto__ is data on every path", () => {
  for (const text of ['{"__proto__":{"polluted":true}}', '{"__proto__":{"polluted":9007199254740993}}']) {
    const value = parseJson(text) as Record<string, unknown>;
    assert.deepEqual(Object.keys(value), ["__proto__"]);
    assert.equal(Object.getPrototypeOf(value), Object.prototype);
    assert.equal((value as { polluted?: unknown }).polluted, undefined);
  }
});

const nested = (depth: number): string => `${"[".repeat(depth)}${"]".repeat(depth)}`;

test("nesting is bounded on the fast and the slow path, without overflowing the stack", () => {
  assert.ok(parseJson(nested(maxJsonDepth)));
  for (const text of [
    nested(maxJsonDepth + 1),
    `{"n":12345678901234567890,"a":${nested(1_000_000)}}`,
    "[".repeat(1_000_000),
  ]) {
    assert.throws(() => parseJson(text), /^JsonSyntaxError: invalid character '\[' exceeded max depth$/);
    assert.throws(() => parseJsonStrict(text), JsonSyntaxError);
  }
});

test("at most 100 duplicates are reported, each path once", () => {
  const many = `{${Array.from({ length: 300 }, (_, i) => `"k${i}":1,"k${i}":2,"k${i}":3`).join(",")}}`;
  const { duplicates } = parseJsonStrict(many);
  assert.equal(duplicates.length, 100);
  assert.equal(duplicates[0], "k0");
});

test("a syntax error has a position", () => {
  assert.throws(
    () => parseJson('{"a": tru}'),
    (error: unknown) => error instanceof JsonSyntaxError && error.offset === 9,
  );
});

test("property: whatever JSON.stringify prints is read back equal, with no duplicates", () => {
  fc.assert(
    fc.property(fc.jsonValue({ depthSize: "medium" }), (value) => {
      const text = JSON.stringify(value);
      const plain = JSON.parse(text) as JsonValue;
      const strict = parseJsonStrict(text);
      assert.deepEqual(strict.duplicates, []);
      assert.ok(jsonEqual(strict.value, plain));
    }),
  );
});

test("property: bigint, numbers and text survive printing and reading", () => {
  const leaf = fc.oneof(
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.string(),
    fc.boolean(),
    fc.constant(null),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.array(leaf)), (value) => {
      const safe = (v: unknown): unknown =>
        typeof v === "bigint" && v >= -9007199254740991n && v <= 9007199254740991n ? Number(v) : v;
      const expected = Object.entries(value).map(([key, list]) => [key, list.map(safe)]);
      assert.deepEqual(Object.entries(parseJson(printJson(value)) as object), expected);
    }),
  );
});

test("property: the scanner never throws and a valid text has as many pairs as keys", () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      scanJson(text);
      scanJson(`"${text}`);
    }),
  );
  assert.deepEqual(scanJson('{"a:{[":"\\"{[:","b":[1,{"c":{}}]}'), {
    pairs: 3,
    values: 7,
    depth: 4,
    needsReader: false,
    hasFractions: false,
  });
});

const fractionRows: Record<string, { reason: string; text: string; want: unknown }> = {
  None: { reason: "integers of any size do not count", text: '{"a":1,"b":[-2,9007199254740993,0]}', want: undefined },
  Texts: { reason: "what only looks like one", text: '{"a":"1.0","1.5":2}', want: undefined },
  Points: { reason: "as it was written", text: '{"a":1.0,"b":1.50}', want: { a: "1.0", b: "1.50" } },
  Exponents: { reason: "also when it is whole", text: '{"a":1e3,"b":1E+1}', want: { a: "1e3", b: "1E+1" } },
  Deep: { reason: "by keys and indexes", text: '{"a":[1,{"b":[2.0]}],"c":3}', want: { a: { 1: { b: { 0: "2.0" } } } } },
  Siblings: {
    reason: "each where it is",
    text: '{"a":{"x":1.0,"y":2,"z":3.0},"b":{"x":4.0}}',
    want: { a: { x: "1.0", z: "3.0" }, b: { x: "4.0" } },
  },
  After: {
    reason: "after something that had some below",
    text: "[[[1.0]],[2],[3.0]]",
    want: { 0: { 0: { 0: "1.0" } }, 2: { 0: "3.0" } },
  },
  Top: { reason: "a number alone is at no place", text: "1.0", want: undefined },
};

const plain = (value: Fractions | string | undefined): unknown =>
  value instanceof Map ? Object.fromEntries([...value].map(([key, one]) => [key, plain(one)])) : value;

for (const [name, { reason, text, want }] of Object.entries(fractionRows)) {
  test(`numbers that are not written as integers: ${name}`, () => {
    const { value, fractions } = parseJsonStrict(text);
    assert.deepEqual(plain(fractions), want, reason);
    assert.deepEqual(
      value,
      JSON.parse(text, (_, one) => (one === 9007199254740992 ? 9007199254740993n : one)),
      reason,
    );
  });
}

test("a hostile document of fractions costs what it is long", () => {
  const deep = 900;
  const text = `${`{"${"k".repeat(1000)}":`.repeat(deep)}[${Array(100_000).fill("1.0").join(",")}]${"}".repeat(deep)}`;
  let { fractions } = parseJsonStrict(text);
  for (let depth = 0; depth < deep; depth++) fractions = fractions?.values().next().value as Fractions;
  assert.equal(fractions?.size, 100_000);
});

test("JSON that is parsed in parts has the same value", () => {
  for (const text of ['{"a":[1,9007199254740993,{"b":null}]}', "[1.50,-0]", '"x"', '{"a":1,"a":2}'])
    assert.deepEqual(finish(parsingJson(text)), parseJson(text));
  assert.throws(() => finish(parsingJson("{")), JsonSyntaxError);
});

test("an object of many members is parsed in many parts, after the number of its values is known", () => {
  const members = Array.from({ length: 60_000 }, (_, i) => [`key-${i}`, "x"] as const);
  const text = JSON.stringify(Object.fromEntries(members));
  let values = 0;
  const work = parsingJson(text, (count) => {
    values = count;
  });
  work.next();
  assert.ok(values >= members.length, `${values} values`);
  let parts = 1;
  for (let part = work.next(); !part.done; part = work.next()) parts++;
  assert.ok(parts > 10, `${parts} parts`);
  assert.deepEqual(finish(parsingJson(text)), JSON.parse(text));
});
