// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createHiddenPaths } from "./read-package.ts";

const rows: { why: string; whiteouts: string[]; hidden: string[]; seen: string[] }[] = [
  { why: "nothing is gone", whiteouts: [], hidden: [], seen: ["package.yaml", "a/b"] },
  {
    why: "a file",
    whiteouts: [".wh.package.yaml"],
    hidden: ["package.yaml", "./package.yaml", "/package.yaml"],
    seen: ["a/package.yaml"],
  },
  { why: "a file in a folder", whiteouts: ["a/.wh.b"], hidden: ["a/b", "a/b/c/d"], seen: ["a/bb", "b", "a"] },
  { why: "however it is written", whiteouts: ["./a//.wh.b"], hidden: ["a/b", "/a/b/"], seen: ["a"] },
  { why: "all that a folder held", whiteouts: ["a/.wh..wh..opq"], hidden: ["a/b", "a/b/c"], seen: ["a", "b", "ab/c"] },
  { why: "all that the image held", whiteouts: [".wh..wh..opq"], hidden: ["a", "a/b"], seen: [] },
];
for (const { why, whiteouts, hidden, seen } of rows) {
  test(`whiteouts: ${why}`, () => {
    const paths = createHiddenPaths();
    for (const path of whiteouts) paths.add(path);
    for (const path of hidden) assert.equal(paths.has(path), true, path);
    for (const path of seen) assert.equal(paths.has(path), false, path);
  });
}
