// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { growth } from "./growth.ts";

const series = (value: (index: number) => number): number[] => Array.from({ length: 100 }, (_, index) => value(index));

test("a series that settles after its first quarter has not grown", () => {
  assert.equal(growth(series((index) => (index < 25 ? 100 + index : 200))), 1);
});

test("a saw tooth has not grown", () => {
  assert.equal(growth(series((index) => 200 + (index % 5))), 1);
});

test("a slow leak shows", () => {
  assert.ok(growth(series((index) => 200 + index)) > 1.2);
});

test("three samples are too few", () => {
  assert.throws(() => growth([1, 2, 3]), /four samples/);
});
