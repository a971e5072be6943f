// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { ArrayList, EntryMap } from "../values/collections.ts";
import { Meter, OptionalValue, Uint, type Value } from "../values/value.ts";
import {
  addRanges,
  exactly,
  lesser,
  listTraversal,
  literalSize,
  matchCost,
  multiplyRanges,
  operandSize,
  scaleRange,
  sizeOf,
  traversal,
  unbounded,
  unionEntries,
  unionRanges,
} from "./costs.ts";

const range = (min: bigint, max: bigint): { readonly min: bigint; readonly max: bigint } => ({ min, max });
const meter = (): Meter => new Meter(1_000_000);

test("sums and products of ranges stop at 64 bits", () => {
  assert.deepEqual(addRanges(), range(0n, 0n));
  assert.deepEqual(addRanges(range(1n, 2n), range(3n, 4n), range(5n, 6n)), range(9n, 12n));
  assert.deepEqual(addRanges(range(1n, unbounded), range(1n, 1n)), range(2n, unbounded));
  assert.deepEqual(addRanges(range(0n, unbounded - 1n), range(0n, 1n)), range(0n, unbounded));
  assert.deepEqual(multiplyRanges(range(2n, 3n), range(4n, 5n)), range(8n, 15n));
  assert.deepEqual(multiplyRanges(range(0n, 2n ** 33n), range(1n, 2n ** 33n)), range(0n, unbounded));
});

test("a scaled range is rounded up", () => {
  assert.deepEqual(scaleRange(range(0n, 1n), 0.1), range(0n, 1n));
  assert.deepEqual(scaleRange(range(10n, 11n), 0.1), range(1n, 2n));
  assert.deepEqual(scaleRange(range(3n, 4n), 2), range(6n, 8n));
  assert.deepEqual(scaleRange(range(1n, unbounded), 2), range(2n, unbounded));
  assert.deepEqual(scaleRange(range(1n, unbounded), 1), range(1n, unbounded));
  assert.deepEqual(scaleRange(range(5n, 5n), 0), range(0n, 0n));
});

test("a union is the smallest range that holds both", () => {
  assert.deepEqual(unionRanges(range(1n, 5n), range(2n, 3n)), range(1n, 5n));
  assert.deepEqual(unionRanges(range(2n, 3n), range(1n, 5n)), range(1n, 5n));
  assert.deepEqual(unionRanges(range(1n, 2n), range(4n, 8n)), range(1n, 8n));
  assert.equal(lesser(2n, 1n), 1n);
  assert.equal(lesser(1n, 2n), 1n);
});

test("sizes of entries are known where both are", () => {
  const a = { container: "list", key: exactly(1), value: exactly(3) } as const;
  const b = { container: "map", key: exactly(2), value: exactly(1) } as const;
  assert.deepEqual(unionEntries(a, b), { container: "list", key: range(1n, 2n), value: range(1n, 3n) });
  assert.equal(unionEntries(a, undefined), undefined);
  assert.equal(unionEntries(undefined, b), undefined);
});

const sizes: readonly { readonly why: string; readonly value: Value; readonly size: number }[] = [
  { why: "a string has code points", value: "a\u{1f600}", size: 2 },
  { why: "bytes", value: Buffer.from("abc"), size: 3 },
  { why: "a list", value: new ArrayList([1n, 2n]), size: 2 },
  { why: "a map", value: new EntryMap([["a", 1n]]), size: 1 },
  { why: "a number is one", value: 5n, size: 1 },
  { why: "null is one", value: null, size: 1 },
  { why: "a uint is one", value: new Uint(9n), size: 1 },
  { why: "an optional is one", value: new OptionalValue("abc"), size: 1 },
];

for (const { why, value, size } of sizes) test(`size: ${why}`, () => assert.equal(sizeOf(value, meter()), size));

test("operators look into optionals", () => {
  assert.equal(operandSize(new OptionalValue(new OptionalValue("abc")), meter()), 3);
  assert.equal(operandSize(new OptionalValue(), meter()), 1);
  assert.equal(operandSize("ab", meter()), 2);
});

test("finding a size is work", () => {
  const spent = new Meter(1000);
  sizeOf("a".repeat(160), spent);
  assert.equal(spent.left, 990);
  sizeOf(new EntryMap([["a", 1n]]), spent);
  assert.equal(spent.left, 989);
});

test("literals have the size that is written", () => {
  const literal = (value: Value): unknown => literalSize({ kind: "literal", id: 1, value });
  assert.deepEqual(literal("\u{1f600}"), exactly(1));
  assert.deepEqual(literal(Buffer.from("abcd")), exactly(4));
  assert.deepEqual(literal(77n), exactly(1));
  assert.equal(literalSize({ kind: "ident", id: 1, name: "a" }), undefined);
});

test("a traversal costs a tenth of the size, rounded up", () => {
  const cost = (text: string): number => traversal().actual([text], meter(), null);
  assert.deepEqual(
    [0, 1, 10, 11, 20, 21].map((length) => cost("a".repeat(length))),
    [0, 1, 1, 2, 2, 3],
  );
  assert.equal(traversal({ factor: 0.2, arg: 1 }).actual(["a", "b".repeat(11)], meter(), null), 3);
});

test("a match costs the text times the pattern", () => {
  const cost = (text: number, pattern: number): number =>
    matchCost.actual(["a".repeat(text), "b".repeat(pattern)], meter(), null);
  assert.equal(cost(0, 1), 1);
  assert.equal(cost(9, 4), 1);
  assert.equal(cost(10, 4), 2);
  assert.equal(cost(10, 5), 4);
  assert.equal(cost(99, 40), 100);
});

test("a traversal of a list costs what is in it, and strings by their bytes, rounded down", () => {
  const cost = (value: Value): number => listTraversal.actual([value], meter(), null);
  assert.equal(cost(new ArrayList([1n, 2n, true])), 3);
  assert.equal(cost(new ArrayList(["a".repeat(19), "b".repeat(20)])), 3);
  assert.equal(cost("\u00e9".repeat(10)), 2);
  assert.equal(cost(Buffer.alloc(29)), 2);
  assert.equal(cost(new ArrayList([new ArrayList([1n]), new ArrayList([])])), 1);
  assert.equal(cost(new EntryMap([["a".repeat(10), 5n]])), 2);
});
