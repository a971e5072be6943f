// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { figure } from "./figure.ts";
import { formatFigure, formatNumber, toMarkdown } from "./report.ts";

test("a line shows the median, the spread, the target and the verdict", () => {
  const line = formatFigure(figure("codec: encode", "×", [2, 3, 4], { relation: "at most", value: 2.5 }));
  assert.match(line, /^codec: encode +3 × +2 – 4 {2}≤ 2\.5 +short$/);
});

test("a line without a target passes no verdict", () => {
  assert.match(formatFigure(figure("calls", "calls/s", [1234.5])), /^calls +1235 calls\/s +1235 – 1235$/);
});

test("numbers keep the digits that matter", () => {
  const rows: [number, string][] = [
    [0.0412, "0.041"],
    [1.236, "1.24"],
    [12.36, "12.4"],
    [123.6, "124"],
    [33000, "33000"],
  ];
  for (const [value, expected] of rows) assert.equal(formatNumber(value), expected);
});

test("the Markdown table has a row for each figure", () => {
  const table = toMarkdown([figure("a", "×", [1.5], { relation: "at least", value: 1 }), figure("b", "µs", [7])]);
  assert.deepEqual(table.split("\n").slice(2), [
    "| a | 1.50 × | 1.50 – 1.50 | ≥ 1 | pass |",
    "| b | 7 µs | 7 – 7 |  |  |",
  ]);
});
