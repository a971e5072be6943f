// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { unifiedDiff } from "./unified-diff.ts";

const lines = (count: number): string[] => Array.from({ length: count }, (_, at) => `line ${at}`);

test("long texts that are equal have no differences, also where lines repeat", () => {
  const repeated = Array<string>(100_000).fill("},");
  assert.equal(unifiedDiff(repeated, [...repeated]), "");
});

test("of long texts the first differences are shown, with their lines", () => {
  const old = lines(5000);
  const now = old.with(4000, "changed");
  assert.equal(
    unifiedDiff(old, now).split("\n").slice(0, 6).join("\n"),
    ["@@ -3998,7 +3998,7 @@", " line 3997", " line 3998", " line 3999", "-line 4000", "+changed"].join("\n"),
  );
  assert.equal(
    unifiedDiff(old, old.slice(0, -1)),
    "@@ -4997,4 +4997,3 @@\n line 4996\n line 4997\n line 4998\n-line 4999\n",
  );
});

test("texts with hundreds of thousands of lines that differ have a bounded difference", () => {
  const [old, now] = [lines(300_000), lines(300_000).map((line) => `${line}!`)];
  assert.equal(unifiedDiff(old, now).split("\n").length, 802, "400 lines of each, and one above them");
});
