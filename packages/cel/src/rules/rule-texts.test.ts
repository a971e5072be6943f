// SPDX-License-Identifier: Apache-2.0
// What the API server says about the rules of a CRD, with whole texts.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { checkRules } from "./check-rules.ts";

function problems(schema: Schema): readonly string[] {
  return checkRules(schema, { path: "s" }).map(
    ({ field, body }) => `${field.replace(/^s\.x-kubernetes-validations/, "rules")}: ${body}`,
  );
}

const spec: Schema = {
  type: "object",
  properties: { a: { type: "integer" }, m: { type: "object", additionalProperties: { type: "string" } } },
};
const ruled = (...rules: readonly Partial<ValidationRule>[]): Schema => ({
  ...spec,
  "x-kubernetes-validations": rules as readonly ValidationRule[],
});

const rows: readonly {
  readonly why: string;
  readonly rule: Partial<ValidationRule>;
  readonly says: readonly string[];
}[] = [
  { why: "a rule", rule: { rule: "self.a > 0" }, says: [] },
  { why: "a blank rule", rule: { rule: " \n" }, says: ["rules[0].rule: Required value: rule is not specified"] },
  {
    why: "a blank message",
    rule: { rule: "true", message: "  " },
    says: ['rules[0].message: Invalid value: "  ": must be non-empty if specified'],
  },
  {
    why: "a message with a line break",
    rule: { rule: "true", message: "a\nb" },
    says: ['rules[0].message: Invalid value: "a\\nb": must not contain line breaks'],
  },
  { why: "a line break around a message", rule: { rule: "true", message: "a\n" }, says: [] },
  {
    why: "a rule of two lines without a message",
    rule: { rule: "true\n&& true" },
    says: ["rules[0].message: Required value: message must be specified if rule contains line breaks"],
  },
  { why: "a rule of two lines with a message", rule: { rule: "true\n&& true", message: "m" }, says: [] },
  {
    why: "a blank message expression",
    rule: { rule: "true", messageExpression: " " },
    says: ["rules[0].messageExpression: Required value: messageExpression must be non-empty if specified"],
  },
  {
    why: "an unknown reason",
    rule: { rule: "true", reason: "Nope" },
    says: [
      'rules[0].reason: Unsupported value: "Nope": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"',
    ],
  },
  {
    why: "a blank path of a field is wrong twice",
    rule: { rule: "true", fieldPath: " " },
    says: [
      'rules[0].fieldPath: Invalid value: " ": must be non-empty if specified',
      'rules[0].fieldPath: Invalid value: " ": must be a valid path',
    ],
  },
  {
    why: "a path of a field that does not exist",
    rule: { rule: "true", fieldPath: ".nope" },
    says: ['rules[0].fieldPath: Invalid value: ".nope": must be a valid path'],
  },
  { why: "a path of a field", rule: { rule: "true", fieldPath: ".m.any" }, says: [] },
  {
    why: "a rule that does not compile is shown as the API server stores it",
    rule: { rule: "self.b", message: "<m>" },
    says: [
      'rules[0].rule: Invalid value: {"Rule":"self.b","Message":"\\u003cm\\u003e","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: ERROR: <input>:1:5: undefined field \'b\'\n | self.b\n | ....^',
    ],
  },
  {
    why: "a rule that is not a bool",
    rule: { rule: "self.a" },
    says: [
      'rules[0].rule: Invalid value: {"Rule":"self.a","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool',
    ],
  },
  {
    why: "a message expression that is not a string",
    rule: { rule: "true", messageExpression: "self.a" },
    says: [
      'rules[0].messageExpression: Invalid value: {"Rule":"true","Message":"","MessageExpression":"self.a","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression must evaluate to a string',
    ],
  },
  {
    why: "an optional old value that is not used",
    rule: { rule: "self.a > 0", optionalOldSelf: true },
    says: ["rules[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"],
  },
  { why: "an optional old value", rule: { rule: "!oldSelf.hasValue()", optionalOldSelf: true }, says: [] },
];

for (const { why, rule, says } of rows) {
  test(`rules of a CRD: ${why}`, () => assert.deepEqual(problems(ruled(rule)), says));
}

test("an old value cannot be read where elements have none", () => {
  const items: Schema = { type: "string", "x-kubernetes-validations": [{ rule: "self == oldSelf" }] };
  const list = (more: Schema): Schema => ({
    type: "object",
    properties: { l: { type: "array", maxItems: 3, items, ...more } },
  });
  assert.deepEqual(problems(list({})), [
    's.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[l]',
  ]);
});

const help =
  "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";

test("a rule that can cost too much is refused, one on bounded data is not", () => {
  const rule = [{ rule: "self.all(a, self.all(b, a == b))" }];
  const list = (more: Schema): Schema => ({
    type: "object",
    properties: { l: { type: "array", items: { type: "integer" }, "x-kubernetes-validations": rule, ...more } },
  });
  assert.deepEqual(problems(list({ maxItems: 10 })), []);
  assert.deepEqual(problems(list({})), [
    `s.properties[l].x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${help}`,
    "s.properties[l].x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema",
    `s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${help}`,
  ]);
});
