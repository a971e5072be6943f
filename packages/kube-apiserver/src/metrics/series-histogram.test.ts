// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { SeriesHistogram } from "./series-histogram.ts";

const histogram = (): SeriesHistogram =>
  new SeriesHistogram({ name: "x_seconds", help: "Some seconds.", labelNames: ["a", "b"], buckets: [0.1, 1] });

test("buckets count everything at or below their bound", () => {
  const one = histogram();
  const observe = one.series("p", "q");
  for (const value of [0.05, 0.1, 0.5, 5]) observe(value);
  assert.equal(
    one.text(),
    [
      "# HELP x_seconds Some seconds.",
      "# TYPE x_seconds histogram",
      'x_seconds_bucket{a="p",b="q",le="0.1"} 2',
      'x_seconds_bucket{a="p",b="q",le="1"} 3',
      'x_seconds_bucket{a="p",b="q",le="+Inf"} 4',
      'x_seconds_sum{a="p",b="q"} 5.65',
      'x_seconds_count{a="p",b="q"} 4',
      "",
    ].join("\n"),
  );
});

test("the same labels are the same series, and a series without observations is not shown", () => {
  const one = histogram();
  one.series("p", "q")(0.5);
  one.series("p", "q")(0.5);
  one.series("p", "unused");
  assert.match(one.text(), /x_seconds_count\{a="p",b="q"\} 2\n/);
  assert.doesNotMatch(one.text(), /unused/);
});

test("values of labels are escaped", () => {
  const one = histogram();
  one.series('say "x"', "back\\slash\nline")(0.5);
  assert.match(one.text(), /x_seconds_count\{a="say \\"x\\"",b="back\\\\slash\\nline"\} 1\n/);
});

test("a summary has the quantiles of the last observations", () => {
  const options = { name: "x_seconds", help: "Some seconds.", labelNames: ["a"], buckets: [1], summary: "x_summary" };
  const one = new SeriesHistogram(options);
  const observe = one.series("p");
  observe(7);
  assert.match(one.text(), /x_summary\{a="p",quantile="0.5"\} 7\n/);
  // The first observation is no longer among the last ones.
  for (let value = 1; value <= 1024; value += 1) observe(value / 1024);
  assert.ok(
    one
      .text()
      .endsWith(
        [
          "# HELP x_summary Some seconds.",
          "# TYPE x_summary summary",
          'x_summary{a="p",quantile="0.5"} 0.5',
          'x_summary{a="p",quantile="0.9"} 0.900390625',
          'x_summary{a="p",quantile="0.99"} 0.990234375',
          'x_summary_sum{a="p"} 519.5',
          'x_summary_count{a="p"} 1025',
          "",
        ].join("\n"),
      ),
    one.text(),
  );
});
