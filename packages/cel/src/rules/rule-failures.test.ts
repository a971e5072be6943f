// SPDX-License-Identifier: Apache-2.0
// What validateRules reports for a rule that is false, cannot be evaluated, or costs too much.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { createRuleSet } from "./rule-set.ts";
import { objectCostLimit } from "./schema-places.ts";
import { validateRules } from "./validate-rules.ts";

type Options = Parameters<typeof validateRules>[2];

const withRules = (schema: Schema, ...rules: readonly Partial<ValidationRule>[]): Schema => ({
  ...schema,
  "x-kubernetes-validations": rules.map((rule) => ({ rule: "false", ...rule })),
});
const field = (schema: Schema, ...rules: readonly Partial<ValidationRule>[]): Schema => ({
  type: "object",
  properties: { a: withRules(schema, ...rules) },
});
const text: Schema = { type: "string" };

function run(schema: Schema, value: unknown, options?: Options): ReturnType<typeof validateRules> {
  return validateRules(createRuleSet(schema) ?? assert.fail("the schema has rules"), value, options);
}

const errors = (schema: Schema, value: unknown, options?: Options): readonly string[] =>
  run(schema, value, options).errors.map((error) => `${error.type} ${error.field}: ${error.body}`);

/** What a rule on the string field `a`, which is "x", reports. */
const ofText = (rule: Partial<ValidationRule>): readonly string[] => errors(field(text, rule), { a: "x" });

describe("a rule that is false", () => {
  test("the rule is named when it has no message", () => {
    assert.deepEqual(ofText({ rule: " self == 'y' " }), [
      "FieldValueInvalid a: Invalid value: \"x\": failed rule: self == 'y'",
    ]);
  });

  test("its message is shown without the white space around it", () => {
    assert.deepEqual(ofText({ message: " must be y\n" }), ['FieldValueInvalid a: Invalid value: "x": must be y']);
  });

  test("a rule that is true reports nothing", () => {
    assert.deepEqual(ofText({ rule: "self == 'x'" }), []);
  });

  const shown: readonly {
    readonly why: string;
    readonly schema: Schema;
    readonly value: unknown;
    readonly is: string;
  }[] = [
    { why: "a string in quotes", schema: text, value: 'a"b', is: 'Invalid value: "a\\"b": m' },
    { why: "an integer", schema: { type: "integer" }, value: 5, is: "Invalid value: 5: m" },
    {
      why: "an integer beyond 2^53",
      schema: { type: "integer" },
      value: 9007199254740993n,
      is: "Invalid value: 9007199254740993: m",
    },
    { why: "a number", schema: { type: "number" }, value: 1.5, is: "Invalid value: 1.5: m" },
    { why: "a bool", schema: { type: "boolean" }, value: false, is: "Invalid value: false: m" },
    { why: "an object is hidden", schema: { type: "object" }, value: { b: 1 }, is: "Invalid value: m" },
    { why: "an array is hidden", schema: { type: "array", items: text }, value: ["b"], is: "Invalid value: m" },
  ];
  for (const { why, schema, value, is } of shown) {
    test(`the value: ${why}`, () => {
      const [found] = errors(field(schema, { message: "m" }), { a: value });
      assert.equal(found, `FieldValueInvalid a: ${is}`);
    });
  }

  const reasons: readonly { readonly reason: string | undefined; readonly is: string }[] = [
    { reason: undefined, is: 'FieldValueInvalid a: Invalid value: "x": m' },
    { reason: "FieldValueInvalid", is: 'FieldValueInvalid a: Invalid value: "x": m' },
    { reason: "FieldValueForbidden", is: "FieldValueForbidden a: Forbidden: m" },
    { reason: "FieldValueRequired", is: "FieldValueRequired a: Required value: m" },
    { reason: "FieldValueDuplicate", is: 'FieldValueDuplicate a: Duplicate value: "x"' },
  ];
  for (const { reason, is } of reasons) {
    test(`the reason ${reason} decides the type of the error`, () => {
      assert.deepEqual(ofText({ message: "m", ...(reason && { reason }) }), [is]);
    });
  }

  test("the path of the rule leads to the field that the error names", () => {
    const schema: Schema = {
      type: "object",
      properties: {
        a: withRules(
          { type: "object", properties: { b: { type: "object", additionalProperties: text } } },
          {
            message: "m",
            fieldPath: ".b['c.d']",
          },
        ),
      },
    };
    assert.deepEqual(errors(schema, { a: {} }), ["FieldValueInvalid a.b[c.d]: Invalid value: m"]);
  });

  test("the path of a rule on the object itself has no dot in front", () => {
    const schema = withRules({ type: "object", properties: { b: text } }, { message: "m", fieldPath: ".b" });
    assert.deepEqual(errors(schema, {}), ["FieldValueInvalid b: Invalid value: m"]);
  });

  test("the path of the caller comes first", () => {
    assert.deepEqual(errors(field(text, { message: "m" }), { a: "x" }, { path: "spec.params" }), [
      'FieldValueInvalid spec.params.a: Invalid value: "x": m',
    ]);
  });

  test("all rules of a place and all places are run", () => {
    const schema: Schema = {
      type: "object",
      properties: {
        a: withRules(text, { message: "1" }, { rule: "true" }, { message: "2" }),
        b: withRules(text, { message: "3" }),
      },
    };
    assert.deepEqual(
      run(schema, { a: "x", b: "y" }).errors.map(({ field: at, body }) => `${at} ${body}`),
      ['a Invalid value: "x": 1', 'a Invalid value: "x": 2', 'b Invalid value: "y": 3'],
    );
  });
});

describe("a message expression", () => {
  const message = (messageExpression: string, more: Partial<ValidationRule> = {}): string | undefined =>
    ofText({ messageExpression, message: "fallback", ...more })[0]?.replace(
      'FieldValueInvalid a: Invalid value: "x": ',
      "",
    );

  test("its value is the message", () => assert.equal(message("'not ' + self"), "not x"));
  test("white space around its value is left out", () => assert.equal(message("'  a b \\n'"), "a b"));

  const unusable: Readonly<Record<string, string>> = {
    "an empty string": "''",
    "white space": "' \\n\\t'",
    "two lines": "'a\\nb'",
    "an error": "self.substring(5)",
    "more than 5 KiB": `'${"a".repeat(5121)}'`,
    "more than 5 KiB in UTF-8": `'${"é".repeat(2561)}'`,
    "an expression that does not compile": "nope",
  };
  for (const [why, expr] of Object.entries(unusable)) {
    test(`the message of the rule stands in for ${why}`, () => assert.equal(message(expr), "fallback"));
  }

  test("5 KiB are not too long", () => {
    const longest = "a".repeat(5120);
    assert.equal(message(`'${longest}'`), longest);
    const inUtf8 = "é".repeat(2560);
    assert.equal(message(`'${inUtf8}'`), inUtf8);
  });

  test("a carriage return is not a line break here", () => assert.equal(message("'a\\rb'"), "a\rb"));

  test("without a message the rule stands in", () => {
    assert.equal(message("''", { message: "" }), "failed rule: false");
  });

  test("it is not evaluated for a rule that is true", () => {
    const costs = (rule: string): number =>
      objectCostLimit - run(field(text, { rule, messageExpression: "self + self" }), { a: "x" }).costLeft;
    assert.equal(costs("self == 'x'"), 2, "the comparison and its variable");
    assert.equal(costs("self != 'x'"), 2 + 3, "and the sum and its two variables");
  });

  test("it can read oldSelf", () => {
    const schema = field(text, { rule: "self == oldSelf", messageExpression: "'was ' + oldSelf" });
    assert.deepEqual(errors(schema, { a: "x" }, { oldValue: { a: "w" } }), [
      'FieldValueInvalid a: Invalid value: "x": was w',
    ]);
  });
});

describe("a rule that cannot be evaluated", () => {
  test("the error comes with the rule, and the type of the value in place of the value", () => {
    assert.deepEqual(ofText({ rule: "self.substring(5) == ''" }), [
      "FieldValueInvalid a: Invalid value: \"string\": index out of range: 5 evaluating rule: self.substring(5) == ''",
    ]);
  });

  test("the message names the rule when there is one", () => {
    assert.deepEqual(ofText({ rule: "1 / 0 == 1", message: "m " }), [
      'FieldValueInvalid a: Invalid value: "string": division by zero evaluating rule: m',
    ]);
  });

  test("a call without a fitting overload gets its own text", () => {
    assert.deepEqual(ofText({ rule: "dyn(self) > 1", message: "m" }), [
      "FieldValueInvalid a: Invalid value: \"string\": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: m",
    ]);
  });

  test("a message expression and a path are not used for it", () => {
    const found = ofText({ rule: "1 / 0 == 1", messageExpression: "'m'", fieldPath: ".x" });
    assert.deepEqual(found, [
      'FieldValueInvalid a: Invalid value: "string": division by zero evaluating rule: 1 / 0 == 1',
    ]);
  });

  test("a rule that does not compile is an error at each value", () => {
    const schema: Schema = {
      type: "object",
      properties: { l: { type: "array", items: withRules(text, { rule: "self" }) } },
    };
    const body = 'Invalid value: "string": rule compile error: cel expression must evaluate to a bool';
    assert.deepEqual(errors(schema, { l: ["x", "y"] }), [
      `FieldValueInvalid l[0]: ${body}`,
      `FieldValueInvalid l[1]: ${body}`,
    ]);
  });

  test("rules on values that expressions cannot see", () => {
    const schema: Schema = {
      type: "object",
      properties: { a: withRules({ "x-kubernetes-preserve-unknown-fields": true }, {}) },
    };
    assert.deepEqual(errors(schema, { a: 1 }), []);
    const root = withRules({ "x-kubernetes-preserve-unknown-fields": true }, {});
    assert.deepEqual(errors(root, { a: 1 }), [
      'FieldValueInvalid <nil>: Invalid value: "": rule compiler initialization error: failed to convert to declType for CEL validation rules',
    ]);
  });

  test("a blank rule is passed over", () => assert.deepEqual(ofText({ rule: " " }), []));
});

describe("rules on resources inside an object", () => {
  const resource = withRules(
    { type: "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true },
    { rule: "self.kind == 'Pod' && self.metadata.name == 'p'", message: "m" },
  );
  const pod = (name: string): object => ({ apiVersion: "v1", kind: "Pod", metadata: { name } });

  test("they read the kind and the name", () => {
    const schema: Schema = { type: "object", properties: { a: resource, l: { type: "array", items: resource } } };
    assert.deepEqual(errors(schema, { a: pod("p"), l: [pod("p")] }), []);
    assert.deepEqual(errors(schema, { a: pod("p"), l: [pod("p"), pod("q")] }), [
      "FieldValueInvalid l[1]: Invalid value: m",
    ]);
  });
});

describe("rules that read oldSelf", () => {
  const immutable = { rule: "self == oldSelf", message: "immutable" };

  test("they do not run when the object is new, or the field is", () => {
    assert.deepEqual(errors(field(text, immutable), { a: "x" }), []);
    assert.deepEqual(errors(field(text, immutable), { a: "x" }, { oldValue: {} }), []);
    assert.deepEqual(errors(field(text, immutable), { a: "x" }, { oldValue: { a: null } }), []);
  });

  test("they run when there is an old value", () => {
    assert.deepEqual(errors(field(text, immutable), { a: "x" }, { oldValue: { a: "x" } }), []);
    assert.deepEqual(errors(field(text, immutable), { a: "x" }, { oldValue: { a: "w" } }), [
      'FieldValueInvalid a: Invalid value: "x": immutable',
    ]);
  });

  test("with an optional old value they always run", () => {
    const rule = { rule: "oldSelf.hasValue() && oldSelf.value() == self", optionalOldSelf: true, message: "m" };
    assert.equal(errors(field(text, rule), { a: "x" }).length, 1);
    assert.equal(errors(field(text, rule), { a: "x" }, { oldValue: {} }).length, 1);
    assert.deepEqual(errors(field(text, rule), { a: "x" }, { oldValue: { a: "x" } }), []);
  });

  test("a failure is never forgiven, although the value did not change", () => {
    const rule = { rule: "oldSelf == 'other'", message: "m" };
    const { errors: found, unchanged } = run(field(text, rule), { a: "x" }, { oldValue: { a: "x" } });
    assert.deepEqual([found.length, unchanged.length], [1, 0]);
  });
});

describe("values that an update left as they were", () => {
  test("their failures are kept apart", () => {
    const schema: Schema = {
      type: "object",
      properties: { a: withRules(text, { message: "1" }), b: withRules(text, { message: "2" }) },
    };
    const { errors: found, unchanged } = run(schema, { a: "x", b: "y" }, { oldValue: { a: "x", b: "z" } });
    assert.deepEqual(
      [found, unchanged].map((list) => list.map(({ body }) => body)),
      [['Invalid value: "y": 2'], ['Invalid value: "x": 1']],
    );
  });

  test("errors of evaluation are not forgiven", () => {
    const { errors: found, unchanged } = run(field(text, { rule: "1 / 0 == 1" }), { a: "x" }, { oldValue: { a: "x" } });
    assert.deepEqual([found.length, unchanged.length], [1, 0]);
  });
});
