// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { matchesGlob } from "node:path";
import { describe, test } from "node:test";
import fc from "fast-check";
import { parseGlob } from "./glob.ts";

describe("a glob", () => {
  const rows: readonly (readonly [pattern: string, matching: readonly string[], others: readonly string[]])[] = [
    ["a.yaml", ["a.yaml"], ["b.yaml", "a.yaml.bak", "x/a.yaml", ""]],
    ["*", ["a", ".a", "*"], ["a/b", "a/"]],
    ["*.yaml", ["a.yaml", ".yaml", ".a.yaml"], ["a.yml", "a/b.yaml"]],
    ["a*b*c", ["abc", "axbxc", "abcbc"], ["ab", "axc", "abcd"]],
    ["a**b", ["ab", "axb"], ["a/b"]],
    ["?", ["a", "ä", "😀", "?"], ["", "ab", "/"]],
    ["**", ["a", "a/b", "a/b/c"], []],
    ["**/b", ["b", "a/b", "a/a/b"], ["a", "b/a", "ab"]],
    ["a/**", ["a/b", "a/b/c"], ["a", "b/a"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b", "a/b/b"], ["ab", "a", "b", "a/x"]],
    ["**/a/**/b", ["a/b", "x/a/y/b", "a/x/a/b"], ["b/a"]],
    ["[abc]", ["a", "b"], ["d", "ab", ""]],
    ["[a-c]x", ["ax", "cx"], ["dx", "-x"]],
    ["[!a-c]", ["d", "!"], ["a", "c", "/"]],
    ["[^a-c]", ["d", "^"], ["b"]],
    ["[]a]", ["]", "a"], ["b", "[]a]"]],
    ["[!]]", ["a"], ["]"]],
    ["[a-]", ["a", "-"], ["b"]],
    ["[c-a]", [], ["a", "b", "c"]],
    ["[[:digit:]x]", ["4", "x"], ["d", ":", "["]],
    ["[[:none:]", [":", "n", "["], ["x"]],
    ["][[:alpha*", ["][[:alphax"], ["]"]],
    ["[[:constructor:]x", ["cx", ":x"], ["x", "ax"]],
    ["[\\]]", ["]"], ["\\"]],
    ["[\\a-\\c]", ["b"], ["-", "\\"]],
    ["a[", ["a["], ["a"]],
    ["[[", ["[["], ["["]],
    ["[a/]", ["[a/]"], ["a", "/"]],
    ["\\*", ["*"], ["a", "\\*"]],
    ["a\\", ["a\\"], ["a"]],
    ["{a,b}", ["a", "b"], ["{a,b}", "ab", ""]],
    ["{examples,test}/**", ["examples/a.yaml", "test/b/c"], ["tests/a", "test"]],
    ["*.{yaml,yml}", ["a.yaml", "b.yml"], ["a.yamlyml", "a.{yaml,yml}"]],
    ["{a,b/c}d", ["ad", "b/cd"], ["b"]],
    ["a{,b}c", ["ac", "abc"], ["a{,b}c"]],
    ["{a,{b,c}d}", ["a", "bd", "cd"], ["b", "ad"]],
    ["{a,b}{c,d}", ["ac", "ad", "bc", "bd"], ["ab", "a"]],
    ["{**/,}a", ["a", "b/a"], ["ab"]],
    ["{a/,}/b", ["a/b"], ["b"]],
    ["{a}{}", ["{a}{}"], ["a", ""]],
    ["{a,b", ["{a,b"], ["a", "b"]],
    ["{a,{b,c}", ["{a,b", "{a,c"], ["a", "b"]],
    ["a,b}", ["a,b}"], ["a"]],
    ["\\{a,b\\}", ["{a,b}"], ["a", "b"]],
    ["{a\\,b,c}", ["a,b", "c"], ["a", "b"]],
    ["a//b", ["a/b"], ["ab", "b"]],
    ["**//b", ["b", "a/b"], ["ab"]],
    ["a(1)", ["a(1)"], ["a1"]],
    ["+\\(a)", ["+(a)"], ["a"]],
    ["+(a", ["+(a"], ["a"]],
    ["+(a/b)", ["+(a/b)"], ["a/b"]],
    ["[+(]a)", ["+a)", "(a)"], ["a"]],
  ];
  for (const [pattern, matching, others] of rows) {
    test(pattern, () => {
      const matches = parseGlob(pattern);
      assert.deepEqual(matching.filter(matches), matching);
      assert.deepEqual(others.filter(matches), []);
    });
  }

  const refused: Readonly<Record<string, RegExp>> = {
    "+(a|b).yaml": /^\+\(…\) is not supported: write \{a,b\}, or \\\( for a parenthesis$/,
    "@(a|b)": /^@\(…\) is not supported: write \{a,b\}, or/,
    "?(a)": /^\?\(…\) is not supported: write \{,a,b\}, or/,
    "*(a|b)": /^\*\(…\) is not supported: write \{a,b\} or \*, or/,
    "!(keep).yaml": /^!\(…\) is not supported: list what to match, or/,
    "x/{+,-}(a)": /^\+\(…\) is not supported/,
    "{1..3}": /^\{1\.\.3\} is not supported: list what it stands for/,
    "a{b..d..2}": /^\{b\.\.d\.\.2\} is not supported/,
    [`{${",".repeat(100)}}`]: /^its braces stand for more than 100 alternatives: use several patterns$/,
    ["{a,b}".repeat(7)]: /more than 100 alternatives/,
    ["{a,".repeat(101) + "}".repeat(101)]: /more than 100 alternatives/,
    [`{${",".repeat(99)}}${"a".repeat(1000)}`]: /^its braces stand for more than 65536 characters: use several/,
  };
  for (const [pattern, message] of Object.entries(refused)) {
    test(`is refused: ${pattern.slice(0, 20)}`, () => {
      assert.throws(() => parseGlob(pattern), { name: "UserError", message });
    });
  }

  // Node's own matcher takes time that grows with the number of stars in the exponent. It has groups and ranges, too, hides what
  // begins with a dot from stars, and calls a backslash a slash.
  test("matches what Node's matcher does", () => {
    const part = fc.constantFrom(
      "a",
      "b",
      "c",
      "*",
      "?",
      "[ab]",
      "[!a]",
      "[a-b]",
      "**/",
      "/",
      "//",
      "/**",
      "{",
      ",",
      "}",
      "{a,b}",
      "{,c/}",
    );
    const pattern = fc.array(part, { minLength: 1, maxLength: 8 }).map((parts) => parts.join(""));
    const name = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 4 });
    const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join("/"));
    const isWritten = (glob: string): boolean => !/^\/|\/$|\*\*\*/.test(glob) && !glob.includes("**/**");
    fc.assert(
      fc.property(pattern.filter(isWritten), path, (glob, given) => {
        assert.equal(parseGlob(glob)(given), matchesGlob(given, glob), `${glob} ${given}`);
      }),
      { numRuns: 3000 },
    );
  });

  test("is read once, however many braces are not closed", () => {
    const started = process.cpuUsage();
    for (const part of ["{", "{a,", "{{a}", "{}{,"]) assert.equal(parseGlob(part.repeat(10_000))("a"), false);
    const { user } = process.cpuUsage(started);
    assert.ok(user < 2_000_000, `${user / 1000} ms of CPU time`);
  });

  test("is read once, however many brackets are not closed", () => {
    const started = process.cpuUsage();
    for (let i = 0; i < 50; i += 1) assert.equal(parseGlob("[".repeat(4096))("a"), false);
    const { user } = process.cpuUsage(started);
    assert.ok(user < 2_000_000, `${user / 1000} ms of CPU time`);
  });

  test("looks at each pair of characters once, however many stars it has", () => {
    const text = "a".repeat(255);
    const path = Array(16).fill(text).join("/");
    const started = process.cpuUsage();
    for (const pattern of [`${"*a".repeat(127)}b`, `**/${"*a".repeat(127)}b`, `${"**/*a*a*b/".repeat(8)}b`]) {
      assert.equal(parseGlob(pattern)(path), false);
      assert.equal(parseGlob(pattern)(text), false);
    }
    const { user } = process.cpuUsage(started);
    assert.ok(user < 2_000_000, `${user / 1000} ms of CPU time`);
  });
});
