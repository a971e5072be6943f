// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseGlob } from "./activation-controller.ts";

const rows: readonly { pattern: string; matches: readonly string[]; others: readonly string[]; why: string }[] = [
  { pattern: "*", matches: ["", "a", "a.b/c"], others: [], why: "a star matches any run, dots and slashes too" },
  { pattern: "a.b", matches: ["a.b"], others: ["a.bc", "xa.b", "a-b"], why: "the whole name counts; a dot is a dot" },
  { pattern: "*.s3.example.org", matches: ["b.s3.example.org"], others: ["s3.example.org"], why: "a group" },
  { pattern: "thin?s.*", matches: ["things.x", "thinks.y.z"], others: ["thins.x", "Things.x"], why: "case counts" },
  { pattern: "[a-c]x", matches: ["ax", "cx"], others: ["dx", "x", "abx"], why: "a range" },
  { pattern: "[^a-c]x", matches: ["dx", "^x"], others: ["ax", "x"], why: "a negated range" },
  { pattern: "[ab\\]c]", matches: ["a", "]", "c"], others: ["\\", "ab"], why: "an escape in a class" },
  { pattern: "\\*a", matches: ["*a"], others: ["xa", "\\*a"], why: "an escaped star" },
  { pattern: "*a*b", matches: ["ab", "aab", "xaxbxb"], others: ["ba", "abx"], why: "two stars" },
  { pattern: "", matches: [""], others: ["a"], why: "an empty pattern matches the empty name" },
];

for (const { pattern, matches, others, why } of rows) {
  test(`glob ${JSON.stringify(pattern)}: ${why}`, () => {
    const glob = parseGlob(pattern);
    assert.ok(glob);
    for (const name of matches) assert.ok(glob.matches(name), name);
    for (const name of others) assert.ok(!glob.matches(name), name);
  });
}

for (const pattern of ["[abc", "[", "[]", "[^]", "a\\", "[a-]", "[-a]", "[\\"]) {
  test(`glob ${JSON.stringify(pattern)} is malformed`, () => assert.equal(parseGlob(pattern), undefined));
}

test("a pattern of many stars does not backtrack exponentially", () => {
  const glob = parseGlob(`${"*a".repeat(100)}b`);
  assert.equal(glob?.matches("a".repeat(5000)), false);
});
