// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseYaml } from "./yaml-file.ts";
import { type PathSegment, parseFieldPath } from "./yaml-position.ts";

test("paths are taken apart at dots and brackets", () => {
  const cases: Readonly<Record<string, readonly PathSegment[]>> = {
    "": [],
    a: ["a"],
    "a.b.c": ["a", "b", "c"],
    "a[0].b": ["a", 0, "b"],
    "a[0][12]": ["a", 0, 12],
    'a["b.c"].d': ["a", "b.c", "d"],
    'a["b\\"]c"]': ["a", 'b"]c'],
    'a["\\u00e4"]': ["a", "ä"],
    "properties[spec].type": ["properties", "spec", "type"],
    "metadata.annotations[example.org/a-b]": ["metadata", "annotations", "example.org/a-b"],
    "a[*].b": ["a", "*", "b"],
    "a-b_c.d e": ["a-b_c", "d e"],
    ".a": ["a"],
  };
  for (const [text, path] of Object.entries(cases)) assert.deepEqual(parseFieldPath(text), path, text);
});

test("what cannot be read ends the path", () => {
  assert.deepEqual(parseFieldPath("a..b"), ["a"]);
  assert.deepEqual(parseFieldPath("a[].b"), ["a"]);
  assert.deepEqual(parseFieldPath("a[0"), ["a"]);
  assert.deepEqual(parseFieldPath('a["\\x"].b'), ["a"]);
  assert.deepEqual(parseFieldPath('a["\n"].b'), ["a"], "a control character is not JSON");
  assert.deepEqual(parseFieldPath("a]b"), ["a"]);
});

test("parsing one path leaves nothing behind for the next", () => {
  assert.deepEqual(parseFieldPath("a[0"), ["a"]);
  assert.deepEqual(parseFieldPath("b"), ["b"]);
});

const text = `# comment
a: 1
list:
- x
- name: second
  "quoted key": {inner: [1, 2]}
anchor: &it {k: v}
alias: *it
block: |
  text
empty:
`;
const at = (...path: PathSegment[]): string | undefined => parseYaml(text, "f")[0]?.at(path).replace(/^f:/, "");

test("a member is found at its key, an item where it begins", () => {
  assert.equal(at(), "2:1");
  assert.equal(at("a"), "2:1");
  assert.equal(at("list"), "3:1");
  assert.equal(at("list", 0), "4:3");
  assert.equal(at("list", 1, "name"), "5:3");
  assert.equal(at("list", 1, "quoted key"), "6:3");
  assert.equal(at("list", 1, "quoted key", "inner", 1), "6:29");
  assert.equal(at("alias"), "8:1");
  assert.equal(at("block"), "9:1");
  assert.equal(at("empty"), "11:1");
});

test("quoted keys and items are found at their quotation marks", () => {
  const quoted = parseYaml("'a': 1\n\"b\": ['x', \"y\", z]\nc: {'d': e}\n", "f")[0];
  const places = [["a"], ["b"], ["b", 0], ["b", 1], ["b", 2], ["c", "d"]].map((path) => quoted?.at(path));
  assert.deepEqual(places, ["f:1:1", "f:2:1", "f:2:7", "f:2:12", "f:2:17", "f:3:5"]);
});

test("a path that leads nowhere is found at the last value that exists", () => {
  assert.equal(at("none"), "2:1");
  assert.equal(at("list", 7, "x"), "3:1");
  assert.equal(at("list", 1, "none"), "5:3");
  assert.equal(at("a", "b", "c"), "2:1");
  assert.equal(at("list", "name"), "3:1");
});
