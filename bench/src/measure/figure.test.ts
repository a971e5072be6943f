// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { confidenceOfRatio, figure, medianOf, ratios, ratiosOfSums } from "./figure.ts";

test("a figure is judged by its median", () => {
  const rows = [
    {
      rounds: [1, 2, 9],
      target: { relation: "at most", value: 2 },
      verdict: "pass",
      reason: "one slow round is noise",
    },
    { rounds: [1, 3, 9], target: { relation: "at most", value: 2 }, verdict: "short", reason: "the middle is above" },
    { rounds: [1, 3, 9], target: { relation: "at least", value: 3 }, verdict: "pass", reason: "equal is enough" },
    { rounds: [1, 2, 9], target: { relation: "at least", value: 3 }, verdict: "short", reason: "the middle is below" },
  ] as const;
  for (const { rounds, target, verdict, reason } of rows) {
    assert.equal(figure("f", "×", rounds, target).verdict, verdict, reason);
  }
  assert.equal(figure("f", "×", [1]).verdict, "for information");
});

test("a figure shows its spread and keeps its rounds in order", () => {
  const { low, median, high, rounds } = figure("f", "×", [5, 1, 4, 2]);
  assert.deepEqual({ low, median, high, rounds }, { low: 1, median: 3, high: 5, rounds: [5, 1, 4, 2] });
});

test("nothing measured is an error, not a figure", () => {
  assert.throws(() => figure("calls", "×", []), /calls: nothing was measured/);
});

test("the median of an even number of values lies between the middle two", () => {
  assert.equal(medianOf([4, 1]), 2.5);
  assert.equal(medianOf([10, 9, 1]), 9);
});

test("ratios pair the rounds", () => {
  assert.deepEqual(ratios([2, 9], [1, 3]), [2, 3]);
  assert.throws(() => ratios([1], []));
});

test("the confidence interval of a ratio holds it, is narrow for quiet rounds and wide for disturbed ones", () => {
  const quiet = Array.from({ length: 40 }, (_, at) => 100 + (at % 3));
  const twice = quiet.map((value) => value * 2);
  const [low = 0, mid = 0, high = 0] = confidenceOfRatio(twice, quiet);
  assert.deepEqual(
    [low, mid, high].map((value) => value.toFixed(6)),
    ["2.000000", "2.000000", "2.000000"],
  );
  const uneven = twice.map((value, at) => value * (1 + (at % 10) / 10));
  const [from = 0, at = 0, to = 0] = confidenceOfRatio(uneven, quiet);
  assert.ok(from < at && at < to && to - from > 0.2, `${from} ${at} ${to}`);
  assert.deepEqual(confidenceOfRatio(uneven, quiet), [from, at, to], "the same rounds, the same interval");
  const slower = quiet.map((value, at) => value * (1 + at / 10));
  const both = slower.map((value) => value * 2);
  assert.equal(
    confidenceOfRatio(both, slower)[2]?.toFixed(6),
    "2.000000",
    "what slows both sides down changes nothing",
  );
});

test("ratios of sums divide blocks of eight rounds, and what is left over is not counted", () => {
  const ones = (length: number): number[] => Array<number>(length).fill(1);
  assert.deepEqual(ratiosOfSums([...ones(8), ...ones(8).map(() => 3)], ones(16)), [1, 3]);
  assert.deepEqual(ratiosOfSums([...ones(8), 100, 100], ones(10)), [1]);
  assert.deepEqual(ratiosOfSums([1, 3], [1, 1]), [2], "fewer than eight are one block");
  assert.throws(() => ratiosOfSums([1], []), { message: "a ratio needs as many rounds above as below" });
});
