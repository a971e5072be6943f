// SPDX-License-Identifier: Apache-2.0
// Objects and maps of the data as values: what is read through a schema, and what without one.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { showValue } from "../../test/expressions.ts";
import { ArrayList, EntryMap, ListValue, MapValue } from "../values/collections.ts";
import { equalValues } from "../values/operations.ts";
import { CelError, CostExceededError, Meter, none, OptionalValue, type Value } from "../values/value.ts";
import { ReadMemo, untyped, withoutSchema } from "./schema-map.ts";
import { SchemaNode } from "./schema-node.ts";
import { schemaValue } from "./schema-value.ts";

const text: Schema = { type: "string" };
const object: Schema = {
  type: "object",
  properties: { a: text, n: { type: "integer" }, "x-y": text, date: { type: "string", format: "date" } },
};
const map: Schema = { type: "object", additionalProperties: { type: "integer" } };

function read(raw: unknown, schema: Schema): MapValue {
  const value = schemaValue(raw, new SchemaNode(schema));
  return value instanceof MapValue ? value : assert.fail("the value is a map");
}

const found = (of: MapValue, key: Value): string => {
  const value = of.find(key);
  return value === undefined ? "nothing" : showValue(value);
};
const keys = (of: MapValue): readonly string[] => [...of.keys()].map(showValue);
const equal = (a: Value, b: Value, units = 1_000_000): string => {
  const answer = equalValues(a, b, new Meter(units));
  return typeof answer === "boolean" ? String(answer) : showValue(answer);
};

describe("an object with a schema", () => {
  const value = read({ a: "text", n: 5, "x-y": "dash", date: "2020-01-01", other: 1 }, object);

  test("fields are read as their schema says", () => {
    assert.equal(found(value, "a"), '"text"');
    assert.equal(found(value, "n"), "5");
    assert.equal(found(value, "date"), "timestamp 2020-01-01T00:00:00Z");
  });

  test("names are escaped", () => {
    assert.equal(found(value, "x__dash__y"), '"dash"');
    assert.equal(found(value, "x__nope__y"), "nothing");
  });

  test("a field that the schema does not declare is not found, not listed, and counts in the size", () => {
    assert.equal(found(value, "other"), "nothing");
    assert.deepEqual(keys(value), ['"a"', '"n"', '"x__dash__y"', '"date"']);
    assert.equal(value.size, 5);
  });

  test("null and undefined are absent", () => {
    const empty = read({ a: null, n: undefined }, object);
    assert.equal(found(empty, "a"), "nothing");
    assert.equal(found(empty, "n"), "nothing");
    assert.equal(empty.contains("a"), false);
  });

  test("a key that is not a string is an error", () => {
    assert.equal(found(value, 1n), "ERR no such overload");
    assert.equal(showValue(value.contains(1n) as Value), "ERR no such overload");
    assert.equal(found(value, new CelError("boom")), "ERR boom");
  });

  test("what every object of the language has is not a field", () => {
    const open: Schema = { type: "object", properties: { toString: text } };
    assert.equal(found(read({}, open), "toString"), "nothing");
  });

  test("a value that is read again is the same value", () => {
    assert.equal(value.find("date"), value.find("date"));
  });
});

describe("a map with a schema", () => {
  const value = read({ "x-y": 1, a__dash__b: 2 }, map);

  test("keys are not escaped", () => {
    assert.equal(found(value, "x-y"), "1");
    assert.equal(found(value, "a__dash__b"), "2");
    assert.equal(found(value, "x__dash__y"), "nothing");
    assert.deepEqual(keys(value), ['"x-y"', '"a__dash__b"']);
  });

  test("null is a value, and wrong where the schema does not allow it", () => {
    assert.equal(found(read({ k: null }, map), "k"), "ERR invalid data, got null for schema with nullable=false");
    const nullable: Schema = { type: "object", additionalProperties: { type: "integer", nullable: true } };
    assert.equal(found(read({ k: null }, nullable), "k"), "null");
  });
});

describe("equality", () => {
  test("maps are equal when all their entries are", () => {
    assert.equal(equal(read({ a: 1, b: 2 }, map), read({ b: 2, a: 1 }, map)), "true");
    assert.equal(equal(read({ a: 1 }, map), read({ a: 2 }, map)), "false");
    assert.equal(equal(read({ a: 1 }, map), read({ b: 1 }, map)), "false");
    assert.equal(equal(read({ a: 1 }, map), read({ a: 1, b: 2 }, map)), "false");
    assert.equal(equal(read({}, map), read({}, map)), "true");
  });

  test("a map of the data and one that an expression made", () => {
    const made = new EntryMap([["a", 1n]]);
    assert.equal(equal(read({ a: 1 }, map), made), "true");
    assert.equal(equal(made, read({ a: 1 }, map)), "true");
  });

  test("a value that is not a map is an error", () => {
    assert.equal(equal(read({}, map), 1n), "ERR no such overload");
    assert.equal(equal(read({}, map), new CelError("boom")), "ERR boom");
  });

  test("unknown fields are compared as they are, where both sides have them", () => {
    const of = (other: unknown): MapValue => read({ a: "x", other }, object);
    assert.equal(equal(of({ deep: [1] }), of({ deep: [1] })), "true");
    assert.equal(equal(of({ deep: [1] }), of({ deep: [2] })), "false");
    assert.equal(equal(read({ a: "x", one: 1 }, object), read({ a: "x", two: 1 }, object)), "true");
  });

  test("comparing takes work for each entry", () => {
    const large = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`k${index}`, index]));
    const [one, other] = [read(large, map), read({ ...large }, map)];
    assert.throws(() => equal(one, other, 1000), CostExceededError);
    assert.equal(equal(one, other, 2000), "true");
  });
});

describe("data without a schema", () => {
  const rows: readonly (readonly [unknown, string])[] = [
    [null, "null"],
    [undefined, "null"],
    [5, "5"],
    [2n ** 60n, "1152921504606846976"],
    [1.5, "double 1.5"],
    ["2020-01-01", '"2020-01-01"'],
    [true, "true"],
    [[1, ["a"]], '[1, ["a"]]'],
    [{ "a-b": { c: null } }, '{"a-b": {"c": null}}'],
  ];
  for (const [raw, is] of rows) test(is, () => assert.equal(showValue(untyped(raw)), is));

  test("a map has its keys as they are, and others are not found", () => {
    const value = untyped({ "a-b": 1 });
    assert.ok(value instanceof MapValue);
    assert.equal(value.size, 1);
    assert.equal(value.find("a-b"), 1n);
    assert.equal(value.find("a__dash__b"), undefined);
    assert.equal(value.find("toString"), undefined);
    assert.equal(value.find(1n), undefined);
  });

  test("a member that is read again is the same value", () => {
    const value = untyped([{ a: [1] }]);
    assert.ok(value instanceof ListValue);
    assert.equal(value.get(0), value.get(0));
  });
});

describe("leaving out a schema", () => {
  test("dates are text again", () => {
    const value = withoutSchema(read({ date: "2020-01-01" }, object));
    assert.equal(showValue(value), '{"date": "2020-01-01"}');
  });

  test("the same value without its schema is the same value", () => {
    const value = read({ a: "x" }, object);
    assert.equal(withoutSchema(value), withoutSchema(value));
  });

  test("optionals are opened, and an empty one is null", () => {
    assert.equal(withoutSchema(new OptionalValue(new OptionalValue(1n))), 1n);
    assert.equal(withoutSchema(none), null);
  });

  test("values that no data is behind stay", () => {
    const list = new ArrayList([1n]);
    assert.equal(withoutSchema(list), list);
    assert.equal(withoutSchema("a"), "a");
  });
});

test("a memo keeps objects and returns all of them", () => {
  const memo = new ReadMemo<string>();
  const list = new ArrayList([]);
  assert.equal(memo.keep("l", list), list);
  assert.equal(memo.keep("s", "text"), "text");
  assert.equal(memo.keep("n", null), null);
  assert.deepEqual([memo.get("l"), memo.get("s"), memo.get("n")], [list, undefined, undefined]);
});
