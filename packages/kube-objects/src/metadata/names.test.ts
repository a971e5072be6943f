// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  dns1035LabelProblems,
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  generateName,
  label1035Name,
  labelKeyProblems,
  labelName,
  labelValueProblems,
  pathSegmentName,
  subdomainName,
  subdomainWithUnderscoreProblems,
} from "./names.ts";

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const loose = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const key = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const ends = "and must start and end with an alphanumeric character";
const labelText = `a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', ${ends} (e.g. 'my-name',  or '123-abc', regex used for validation is '${label}')`;
const subdomainText = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', ${ends} (e.g. 'example.com', regex used for validation is '${label}(\\.${label})*')`;
const looseText = `a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', ${ends} (e.g. 'example.com', regex used for validation is '${loose}(\\.${loose})*')`;
const label1035Text =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const keyText = `must consist of alphanumeric characters, '-', '_' or '.', ${ends} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '${key}')`;
const valueText = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', ${ends} (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(${key})?')`;
const tooLong = (max: number, unit = "characters"): string => `must be no more than ${max} ${unit}`;

type Rule = (value: string) => readonly string[];
type Case = readonly [name: string, value: string, problems: readonly string[]];

function check(rule: string, problemsOf: Rule, cases: readonly Case[]): void {
  for (const [name, value, problems] of cases) {
    test(`${rule}: ${name}`, () => assert.deepEqual(problemsOf(value), problems));
  }
}

check("DNS-1123 label", dns1123LabelProblems, [
  ["one digit", "1", []],
  ["dashes inside", "a--b-1", []],
  ["63 characters", "a".repeat(63), []],
  ["64 characters", "a".repeat(64), [tooLong(63)]],
  ["64 characters that end with a dash", `${"a".repeat(63)}-`, [tooLong(63), labelText]],
  ["empty", "", [labelText]],
  ["dots between labels have a text of their own", "a.b", ["must not contain dots"]],
  ["a dot at the end", "a.", [labelText]],
  ["a dash at the beginning", "-a", [labelText]],
  ["a capital letter", "A", [labelText]],
  ["a line break after the name", "a\n", [labelText]],
  ["a letter of another alphabet", "ä", [labelText]],
]);

check("DNS-1123 subdomain", dns1123SubdomainProblems, [
  ["labels with dots", "a.b-c.1", []],
  ["253 characters, though one label", "a".repeat(253), []],
  ["254 characters", "a".repeat(254), [tooLong(253)]],
  ["bytes are counted, not characters", "ä".repeat(127), [tooLong(253), subdomainText]],
  ["empty", "", [subdomainText]],
  ["an empty label", "a..b", [subdomainText]],
  ["a label that ends with a dash", "a-.b", [subdomainText]],
  ["an underscore", "a_b", [subdomainText]],
]);

test("the length of a subdomain can be given in bytes", () => {
  assert.deepEqual(dns1123SubdomainProblems("a".repeat(254), "bytes"), [tooLong(253, "bytes")]);
});

check("subdomain with underscores", subdomainWithUnderscoreProblems, [
  ["underscores inside and before a label", "_a_b._c", []],
  ["two underscores at the beginning", "__a", [looseText]],
  ["an underscore at the end", "a_", [looseText]],
  ["253 characters", "a".repeat(253), []],
  ["254 characters", "a".repeat(254), [tooLong(253)]],
]);

check("DNS-1035 label", dns1035LabelProblems, [
  ["a letter first", "a1-b", []],
  ["a digit first", "1a", [label1035Text]],
  ["a dot", "a.b", [label1035Text]],
  ["63 characters", "a".repeat(63), []],
  ["64 characters", "a".repeat(64), [tooLong(63)]],
  ["64 digits", "1".repeat(64), [tooLong(63), label1035Text]],
]);

test("a prefix may end with a dash, a name may not", () => {
  for (const rule of [subdomainName, labelName, label1035Name]) {
    assert.deepEqual(rule("web-", true), []);
    assert.equal(rule("web-", false).length, 1);
    assert.equal(rule("-", true).length, 1, "a dash alone");
    assert.equal(rule("web.", true).length, 1, "a dot at the end");
    assert.equal(rule("Web-", true).length, 1, "a capital letter");
  }
});

test("the character before the dash of a prefix is not checked, as in the reference", () => {
  assert.deepEqual(subdomainName("web_-", true), []);
  assert.deepEqual(subdomainName("we_b-", true), [subdomainText]);
});

test("the length of a prefix is that without one character", () => {
  assert.deepEqual(labelName(`${"a".repeat(63)}-`, true), []);
  assert.deepEqual(labelName(`${"a".repeat(64)}-`, true), [tooLong(63)]);
});

test("a segment of a path is not a dot or two, and has no slash or percent sign", () => {
  assert.deepEqual(pathSegmentName(".", false), ["may not be '.'"]);
  assert.deepEqual(pathSegmentName("..", false), ["may not be '..'"]);
  assert.deepEqual(pathSegmentName("...", false), []);
  assert.deepEqual(pathSegmentName("system:Node ä", false), []);
  assert.deepEqual(pathSegmentName("a%b/c", false), ["may not contain '/'", "may not contain '%'"]);
  assert.deepEqual([pathSegmentName(".", true), pathSegmentName("..", true)], [[], []]);
  assert.deepEqual(pathSegmentName("a/", true), ["may not contain '/'"]);
});

const prefixed = (problem: string): string => `prefix part ${problem}`;

check("label key", labelKeyProblems, [
  ["a name", "App.kubernetes_io-x", []],
  ["a prefix and a name", "example.com/App", []],
  ["a name of 63 characters", "a".repeat(63), []],
  ["a name of 64 characters", "a".repeat(64), [`name part ${tooLong(63, "bytes")}`]],
  ["a name of 63 characters with a prefix", `e.org/${"a".repeat(63)}`, []],
  ["a prefix of 253 characters", `${"a".repeat(253)}/b`, []],
  ["a prefix of 254 characters", `${"a".repeat(254)}/b`, [prefixed(tooLong(253, "bytes"))]],
  ["empty", "", ["name part must be non-empty", `name part ${keyText}`]],
  ["an empty prefix", "/a", ["prefix part must be non-empty"]],
  ["an empty name", "e.org/", ["name part must be non-empty", `name part ${keyText}`]],
  ["a prefix with capital letters", "E.org/a", [prefixed(subdomainText)]],
  ["an invalid prefix and an invalid name", "_/_", [prefixed(subdomainText), `name part ${keyText}`]],
  [
    "two slashes",
    "a/b/c",
    [`a valid label key ${keyText} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`],
  ],
]);

check("label value", labelValueProblems, [
  ["empty", "", []],
  ["all kinds of characters", "A.b_c-1", []],
  ["63 characters", "a".repeat(63), []],
  ["64 characters", "a".repeat(64), [tooLong(63, "bytes")]],
  ["32 characters of two bytes", "ä".repeat(32), [tooLong(63, "bytes"), valueText]],
  ["a dash at the end", "a-", [valueText]],
  ["a space", " ", [valueText]],
  ["a slash", "a/b", [valueText]],
]);

test("a generated name has five random characters after at most 58 of its base", () => {
  const drawn: number[] = [];
  const first = (max: number): number => {
    drawn.push(max);
    return 0;
  };
  assert.equal(generateName("web-", first), "web-bbbbb");
  assert.deepEqual(drawn, [27, 27, 27, 27, 27]);
  assert.equal(
    generateName("", (max) => max - 1),
    "99999",
  );
  for (const length of [57, 58, 59]) {
    assert.equal(generateName("a".repeat(length), first), `${"a".repeat(Math.min(length, 58))}bbbbb`);
  }
});

test("the random characters are different ones and no vowels", () => {
  let next = 0;
  const all = Array.from({ length: 6 }, () => generateName("", (max) => next++ % max))
    .join("")
    .slice(0, 27);
  assert.equal(all, "bcdfghjklmnpqrstvwxz2456789");
});

test("label keys with a prefix are judged one by one, whichever came before", () => {
  const keys = [
    "a.example/x",
    "a.example/x",
    "a.example/-",
    "A.example/x",
    "a.exampl/x",
    "a.example/x/y",
    "/x",
    "a.example/",
  ];
  const problemsOf = (list: readonly string[]): [string, number][] =>
    list.map((key) => [key, labelKeyProblems(key).length]);
  const alone = problemsOf(keys);
  assert.deepEqual(
    alone.map(([, count]) => count > 0),
    [false, false, true, true, false, true, true, true],
  );
  assert.deepEqual(problemsOf(keys.toReversed()).toReversed(), alone);
});
