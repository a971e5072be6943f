// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkSchema, findingText } from "../schema/check-schema.ts";
import { linearPattern, patternSize } from "./linear-pattern.ts";

test("patterns are RE2, searched anywhere", () => {
  for (const [source, text, want] of [
    ["b", "abc", true],
    ["^b", "abc", false],
    ["(?i)^ABC$", "abc", true],
    ["^[[:alpha:]]+\\z", "abc", true],
    ["^\\pL+$", "héllo", true],
    ["^.$", "😀", true],
    ["^\\d+$", "٣", false],
  ] as const) {
    const pattern = linearPattern(source);
    assert.equal(pattern.problem, undefined);
    assert.equal(pattern.test(text), want, `${source} on ${text}`);
  }
});

test("an unsupported pattern is reported, not thrown", () => {
  for (const source of ["(a", "(?=a)", "a{1001}", "[", "\\1", "*", "(?<n>a)\\k<n>"]) {
    const pattern = linearPattern(source);
    assert.match(pattern.problem ?? "", /error parsing regexp/, source);
    assert.equal(pattern.test("a"), false);
    assert.equal(pattern.steps(10), 0);
  }
});

test("a pattern is compiled once", () => {
  assert.equal(linearPattern("^x$"), linearPattern("^x$"));
  for (let i = 0; i < 3_000; i++) linearPattern(`^${i}$`);
  assert.ok(linearPattern("^x$").test("x"));
});

const sizes: Record<string, { reason: string; pattern: string; size: number }> = {
  Plain: { reason: "one a character", pattern: "abc", size: 3 },
  Repeat: { reason: "unrolled", pattern: "a{5}b", size: 6 },
  Range: { reason: "by its upper bound", pattern: "a{2,7}", size: 7 },
  OpenRange: { reason: "or its lower", pattern: "a{3,}", size: 3 },
  Group: { reason: "with its contents", pattern: "(abc){10}", size: 50 },
  Nested: { reason: "multiplied", pattern: "((ab){10}){10}", size: 420 },
  Class: { reason: "a class is one", pattern: "[a-z{5}]{3}", size: 3 },
  Posix: { reason: "also with a class in it", pattern: "[[:alpha:]_]{3}", size: 3 },
  Bracket: { reason: "a bracket first in a class is literal", pattern: "[]a]{2}", size: 2 },
  Escape: { reason: "an escape is one", pattern: "\\d{3}\\{5\\}", size: 6 },
  Property: { reason: "so is a property", pattern: "\\p{Greek}{4}", size: 4 },
  Stars: { reason: "one each", pattern: "a*b+c?", size: 6 },
  Literal: { reason: "braces that are not a repetition", pattern: "a{x}", size: 4 },
  Unclosed: { reason: "malformed ones get some size", pattern: "((a{5}", size: 5 },
};

for (const [name, { reason, pattern, size }] of Object.entries(sizes)) {
  test(`patternSize ${name}: ${reason}`, () => assert.equal(patternSize(pattern), size));
}

test("patterns that would compile to huge programs are refused before they are compiled", () => {
  for (const source of ["([a-z]{1000})".repeat(100), `(${"ab|c*".repeat(200)}){1000}`, "a".repeat(30_000)]) {
    assert.equal(linearPattern(source).problem, "expression too large");
  }
});

test("a name of a domain is well within the limits", () => {
  const label = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";
  assert.equal(linearPattern(`^${label}(\\.${label}){0,9}$`).problem, undefined);
});

test("a text too long for its pattern is reported instead of matched", () => {
  const schema = { type: "object", properties: { a: { type: "string", pattern: "([a-z]{900}x)".repeat(9) } } };
  const [finding] = checkSchema({ a: "a".repeat(100_000) }, schema);
  assert.match(finding ? findingText(finding) : "", /^a: Invalid value: "": a in body is too long to be matched with/);
});

test("many texts together have a limit too", () => {
  const item = { type: "string", pattern: "([a-z]{900}x)".repeat(9) };
  const schema = { type: "object", properties: { l: { type: "array", items: item } } };
  const findings = checkSchema({ l: Array.from({ length: 50 }, () => "a".repeat(1_000)) }, schema);
  assert.equal(findings.length, 50);
  assert.ok(findings.filter(({ body }) => body.includes("too long to be matched")).length > 40);
});
