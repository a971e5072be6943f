// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  beginningOf,
  childPath,
  duplicatePrinted,
  type FieldError,
  fieldErrorsText,
  fieldErrorText,
  fieldValueText,
  firstErrors,
  indexPath,
  internalFieldError,
  invalidPrinted,
  invalidType,
  invalidValue,
  keyPath,
  notFoundValue,
  repeatsIn,
  requiredValue,
  rootPath,
  shownText,
  tooFew,
  tooLong,
  tooLongCharacters,
  tooMany,
  tooShort,
  unsupportedPrinted,
  unsupportedValue,
} from "./field-error.ts";

test("paths are made of children, items and keys; those of the root have no beginning", () => {
  assert.equal(childPath("spec", "ports"), "spec.ports");
  for (const root of [undefined, "", rootPath]) assert.equal(childPath(root, "spec"), "spec");
  assert.equal(indexPath("spec.ports", 0), "spec.ports[0]");
  assert.equal(keyPath("labels", "a.b/c"), "labels[a.b/c]");
  assert.equal(indexPath(rootPath, 2), "[2]");
});

test("values are printed as Go prints them", () => {
  assert.equal(fieldValueText('a"b\n'), '"a\\"b\\n"');
  assert.equal(fieldValueText(1.5), "1.5");
  assert.equal(fieldValueText(2n ** 60n), "1152921504606846976");
  assert.equal(fieldValueText(null), "null");
  assert.equal(fieldValueText(true), "true");
  assert.equal(fieldValueText({ b: "<", a: [1] }), '{"a":[1],"b":"\\u003c"}');
});

test("a text of more than 64 KiB is cut, with its length", () => {
  const limit = 64 * 1024;
  assert.equal(shownText("x".repeat(limit)), `"${"x".repeat(limit)}"`);
  assert.equal(shownText("x".repeat(limit + 1)), `"${"x".repeat(limit)}"... (65537 characters)`);
  assert.equal(beginningOf("x".repeat(limit)), "x".repeat(limit));
  assert.equal(beginningOf("x".repeat(limit + 1)), `${"x".repeat(limit)}... (65537 characters)`);
});

const texts: readonly (readonly [FieldError, string])[] = [
  [invalidValue("a", 1, "why"), "a: Invalid value: 1: why"],
  [invalidValue("a", "", ""), 'a: Invalid value: ""'],
  [invalidPrinted("a", "{x}", "why"), "a: Invalid value: {x}: why"],
  [invalidType("a", "1", "why"), 'a: Invalid value: "1": why'],
  [requiredValue("a"), "a: Required value"],
  [requiredValue("a", "why"), "a: Required value: why"],
  [requiredValue(undefined), "<nil>: Required value"],
  [unsupportedValue("a", "x", ["y", "z"]), 'a: Unsupported value: "x": supported values: "y", "z"'],
  [unsupportedPrinted("a", "[x]", ["y"]), 'a: Unsupported value: [x]: supported values: "y"'],
  [duplicatePrinted("a", "{}"), "a: Duplicate value: {}"],
  [notFoundValue("a", "x"), 'a: Not found: "x"'],
  [tooLong("a", 1), "a: Too long: may not be more than 1 byte"],
  [tooLong("a", 0), "a: Too long: may not be more than 0 bytes"],
  [tooLong("a", -1), "a: Too long: value is too long"],
  [tooLongCharacters("a", 2), "a: Too long: may not be more than 2 characters"],
  [tooLongCharacters("a", -1), "a: Too long: value is too long"],
  [tooShort("a", 1), "a: Too short: must be at least 1 character"],
  [tooShort("a", -1), "a: Too short: value is too short"],
  [tooMany("a", 3, 2), "a: Too many: 3: must have at most 2 items"],
  [tooMany("a", -1, 1), "a: Too many: must have at most 1 item"],
  [tooMany("a", 3, -1), "a: Too many: 3: has too many items"],
  [tooFew("a", 0, 1), "a: Too few: 0: must have at least 1 item"],
  [tooFew("a", 0, -1), "a: Too few: 0: has too few items"],
  [internalFieldError("a", "why"), "a: Internal error: why"],
];

for (const [error, text] of texts) {
  test(`the text of a finding: ${text}`, () => {
    assert.equal(fieldErrorText(error), text);
  });
}

test("a value of a wrong type has a type of its own and the text of an invalid one", () => {
  assert.equal(invalidType("a", 1, "why").type, "FieldValueTypeInvalid");
  assert.equal(invalidType("a", 1, "why").body, invalidValue("a", 1, "why").body);
});

test("several findings are a list, each text once", () => {
  assert.equal(fieldErrorsText([]), "");
  assert.equal(fieldErrorsText([requiredValue("a")]), "a: Required value");
  assert.equal(fieldErrorsText([requiredValue("a"), requiredValue("a")]), "a: Required value");
  assert.equal(
    fieldErrorsText([requiredValue("b"), requiredValue("a"), requiredValue("b")]),
    "[b: Required value, a: Required value]",
  );
});

test("members are checked until there are a hundred findings", () => {
  const seen: number[] = [];
  const check = (perMember: number): FieldError[] =>
    firstErrors(Array.from({ length: 300 }), (_, index) => {
      seen.push(index);
      return Array.from({ length: perMember }, () => requiredValue(`[${index}]`));
    });
  assert.equal(check(1).length, 100);
  assert.equal(seen.length, 100);
  seen.length = 0;
  assert.equal(check(3).length, 102, "the findings of one member are not cut");
  assert.equal(seen.length, 34);
  assert.deepEqual(
    firstErrors([], () => [requiredValue("a")]),
    [],
  );
});

test("values that stand earlier in a list are found with one look at each", () => {
  const isRepeated = repeatsIn(["a", "b", "a", "", "a", ""]);
  assert.deepEqual([0, 1, 2, 3, 4, 5, 6].map(isRepeated), [false, false, true, false, true, true, false]);
});
