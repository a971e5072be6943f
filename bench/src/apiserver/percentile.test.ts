// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { percentile } from "./percentile.ts";

const hundred = Array.from({ length: 100 }, (_, index) => 100 - index);

const cases: Record<string, { reason: string; values: number[]; part: number; want: number }> = {
  Half: { reason: "50 of 100 values are at most 50", values: hundred, part: 0.5, want: 50 },
  Nearly: { reason: "one value in a hundred is larger", values: hundred, part: 0.99, want: 99 },
  All: { reason: "none is larger", values: hundred, part: 1, want: 100 },
  None: { reason: "the smallest is the least there is", values: hundred, part: 0, want: 1 },
  One: { reason: "one value is every percentile", values: [7], part: 0.99, want: 7 },
  Even: { reason: "half of two values are at most the smaller", values: [3, 1], part: 0.5, want: 1 },
};

for (const [name, { reason, values, part, want }] of Object.entries(cases)) {
  test(`percentile: ${name}`, () => assert.equal(percentile(values, part), want, reason));
}

test("nothing has no percentile", () => assert.throws(() => percentile([], 0.5), /of nothing/));
