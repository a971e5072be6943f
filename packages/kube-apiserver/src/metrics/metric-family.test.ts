// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { computedFamily, HistogramFamily, metricsText, NumberFamily } from "./metric-family.ts";

test("numbers are added up by their labels", () => {
  const family = new NumberFamily("counter", { name: "b_total", help: "Things.", labels: ["x", "y"] });
  assert.deepEqual(family.lines(), [], "nothing to tell yet");
  family.add(["2", "a"], 1);
  family.add(["1", "a"], 2);
  family.add(["2", "a"], 1);
  assert.deepEqual(family.lines(), [
    "# HELP b_total Things.",
    "# TYPE b_total counter",
    'b_total{x="1",y="a"} 2',
    'b_total{x="2",y="a"} 2',
  ]);
});

test("labels are written so that they can be read again", () => {
  const family = new NumberFamily("gauge", { name: "g", help: "h", labels: ["x"] });
  family.add(['a"b\\c\nd'], 1);
  assert.equal(family.lines().at(-1), 'g{x="a\\"b\\\\c\\nd"} 1');
});

test("histograms count what is at or below each bound", () => {
  const family = new HistogramFamily({ name: "h", help: "Sizes.", labels: ["x"], bounds: [1, 10, 1e6] });
  for (const value of [0.5, 1, 7, 1e9]) family.observe(["a"], value);
  assert.deepEqual(family.lines().slice(2), [
    'h_bucket{x="a",le="1"} 2',
    'h_bucket{x="a",le="10"} 3',
    'h_bucket{x="a",le="1e+06"} 3',
    'h_bucket{x="a",le="+Inf"} 4',
    'h_sum{x="a"} 1000000008.5',
    'h_count{x="a"} 4',
  ]);
});

test("a histogram without labels still has bounds", () => {
  const family = new HistogramFamily({ name: "h", help: "Sizes.", labels: [], bounds: [1] });
  family.observe([], 2);
  assert.deepEqual(family.lines().slice(2), ['h_bucket{le="1"} 0', 'h_bucket{le="+Inf"} 1', "h_sum 2", "h_count 1"]);
});

test("families are sorted by name, and computed ones are computed on each scrape", () => {
  let value = 1;
  const computed = computedFamily({ name: "b", help: "Now.", labels: [] }, () => [[[], value]]);
  const other = computedFamily({ name: "a_total", help: "Then.", labels: [], type: "counter" }, () => [[[], 7]]);
  const none = computedFamily({ name: "c", help: "Nothing.", labels: [] }, () => []);
  value = 2;
  assert.equal(
    metricsText([computed, none, other]),
    "# HELP a_total Then.\n# TYPE a_total counter\na_total 7\n# HELP b Now.\n# TYPE b gauge\nb 2\n",
  );
});
