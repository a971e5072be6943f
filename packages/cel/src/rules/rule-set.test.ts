// SPDX-License-Identifier: Apache-2.0
// The rules of a schema: where they are found, and what compiling one gives.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { declare, maxSchemaDepth } from "../schema/decl-type.ts";
import { type CompiledRule, createRuleSet, declaresRules, maxCardinality, RuleCompiler } from "./rule-set.ts";

const ruled: Schema = { "x-kubernetes-validations": [{ rule: "true" }] };
const subject: Schema = {
  type: "object",
  properties: {
    s: { type: "string", maxLength: 10 },
    l: { type: "array", items: { type: "string" } },
    m: { type: "object", additionalProperties: { type: "string" } },
  },
};

function compile(rule: Partial<ValidationRule>): CompiledRule {
  const decl = declare(subject, false) ?? assert.fail("expressions see the schema");
  return new RuleCompiler(subject, decl).compile({ rule: "true", ...rule });
}

describe("compiling a rule", () => {
  test("a rule that is a bool gets a program and the most it can cost", () => {
    const { condition, error } = compile({ rule: "self.s == 'abc'" });
    assert.equal(error, undefined);
    assert.equal(condition?.maxCost, 3n);
    assert.equal(condition?.program.usesOldSelf, false);
  });

  for (const blank of ["", " ", "\n\t", "\u00a0", "\u3000"]) {
    test(`a rule of white space only is not compiled: ${JSON.stringify(blank)}`, () => {
      const { condition, error } = compile({ rule: blank });
      assert.deepEqual({ condition, error }, { condition: undefined, error: undefined });
    });
  }

  const refused: readonly { readonly why: string; readonly rule: string; readonly error: string }[] = [
    { why: "a string", rule: "self.s", error: "cel expression must evaluate to a bool" },
    { why: "a value of any type", rule: "dyn(true)", error: "cel expression must evaluate to a bool" },
    { why: "an optional bool", rule: "optional.of(true)", error: "cel expression must evaluate to a bool" },
    {
      why: "an unknown field",
      rule: "self.nope",
      error: "compilation failed: ERROR: <input>:1:5: undefined field 'nope'\n | self.nope\n | ....^",
    },
    {
      why: "a constant that cannot be computed",
      rule: "int(dyn('x')) == 1",
      error: "program instantiation failed: type conversion error from 'string' to 'int'",
    },
  ];
  for (const { why, rule, error } of refused) {
    test(`a rule is refused: ${why}`, () => {
      const compiled = compile({ rule, messageExpression: "'m'", fieldPath: ".s" });
      assert.equal(compiled.error, error);
      assert.deepEqual([compiled.condition, compiled.message, compiled.fieldPath], [undefined, undefined, undefined]);
    });
  }

  test("a rule that reads oldSelf says so", () => {
    assert.equal(compile({ rule: "self == oldSelf" }).condition?.program.usesOldSelf, true);
  });

  test("oldSelf is an optional only where the rule asks for that", () => {
    assert.match(
      compile({ rule: "oldSelf.hasValue()" }).error ?? "",
      /^compilation failed: ERROR: <input>:1:17: found/,
    );
    assert.equal(compile({ rule: "oldSelf.hasValue()", optionalOldSelf: true }).error, undefined);
    assert.match(compile({ rule: "oldSelf.hasValue()", optionalOldSelf: false }).error ?? "", /^compilation failed/);
  });

  test("one compiler serves rules with and without an optional old value", () => {
    const decl = declare(subject, false) ?? assert.fail("expressions see the schema");
    const compiler = new RuleCompiler(subject, decl);
    assert.equal(compiler.compile({ rule: "oldSelf.s == 'a'" }).error, undefined);
    assert.equal(compiler.compile({ rule: "oldSelf.hasValue()", optionalOldSelf: true }).error, undefined);
    assert.equal(compiler.compile({ rule: "oldSelf.s == 'b'" }).error, undefined);
  });

  const messages: readonly { readonly why: string; readonly text: string; readonly error: string }[] = [
    { why: "not a string", text: "1", error: "messageExpression must evaluate to a string" },
    {
      why: "an unknown variable",
      text: "nope",
      error:
        "messageExpression compilation failed: ERROR: <input>:1:1: undeclared reference to 'nope' (in container '')\n | nope\n | ^",
    },
    {
      why: "a constant that cannot be computed",
      text: "string(int(dyn('x')))",
      error: "messageExpression instantiation failed: type conversion error from 'string' to 'int'",
    },
  ];
  for (const { why, text, error } of messages) {
    test(`a wrong message expression leaves the rule in force: ${why}`, () => {
      const { condition, message, messageError } = compile({ messageExpression: text });
      assert.equal(messageError, error);
      assert.equal(message, undefined);
      assert.ok(condition);
    });
  }

  test("a message expression is compiled with its own cost", () => {
    const { message, messageError } = compile({ messageExpression: "self.s + '!'" });
    assert.equal(messageError, undefined);
    assert.equal(message?.maxCost, 7n, "two selections, and a tenth of 40 bytes and 1");
  });

  const fieldPaths: readonly { readonly text: string; readonly is: string | undefined }[] = [
    { text: ".s", is: "s" },
    { text: "['s']", is: "s" },
    { text: ".m['a.b']", is: "m[a.b]" },
    { text: ".m.key", is: "m[key]" },
    { text: ".nope", is: undefined },
    { text: ".l[0]", is: undefined },
    { text: "s", is: undefined },
    { text: "", is: undefined },
  ];
  for (const { text, is } of fieldPaths) {
    test(`the path of a failure, ${JSON.stringify(text)}, is ${is}`, () => {
      const compiled = compile({ fieldPath: text });
      assert.equal(compiled.fieldPath, is);
      assert.ok(compiled.condition, "a wrong path does not keep the rule from running");
    });
  }
});

describe("how often a value can be in one object", () => {
  const cardinality = (schema: Schema): bigint =>
    maxCardinality(declare(schema, false) ?? assert.fail("expressions see the schema"));
  const request = 3 * 1024 * 1024;

  test("a request has 3 MiB: the smallest value and a comma divide it", () => {
    assert.equal(cardinality({ type: "string" }), BigInt(Math.floor(request / 3)), "two quotes");
    assert.equal(cardinality({ type: "integer" }), BigInt(Math.floor(request / 2)), "one digit");
    assert.equal(cardinality({ type: "boolean" }), BigInt(Math.floor(request / 5)), "true");
    assert.equal(
      cardinality({ type: "array", items: { type: "string" } }),
      BigInt(Math.floor(request / 3)),
      "brackets",
    );
  });
});

describe("where a schema has rules", () => {
  const found: Readonly<Record<string, Schema>> = {
    "on itself": ruled,
    "on a property": { properties: { a: ruled } },
    "on items": { items: ruled },
    "on values of a map": { additionalProperties: ruled },
    "deep inside": { properties: { a: { items: { additionalProperties: { properties: { b: ruled } } } } } },
  };
  for (const [where, schema] of Object.entries(found)) {
    test(`rules are found ${where}`, () => {
      assert.equal(declaresRules(schema), true);
      assert.ok(createRuleSet(schema));
    });
  }

  const missed: Readonly<Record<string, Schema>> = {
    nowhere: { type: "object", properties: { a: { type: "string" } } },
    "in an empty list": { "x-kubernetes-validations": [] },
    "under allOf alone": { allOf: [ruled] },
    "under not": { not: ruled },
    "in a map that takes any value": { additionalProperties: true },
  };
  for (const [where, schema] of Object.entries(missed)) {
    test(`rules are not found ${where}`, () => {
      assert.equal(declaresRules(schema), false);
      assert.equal(createRuleSet(schema), undefined);
    });
  }

  const nested = (levels: number): Schema => (levels === 0 ? ruled : { type: "array", items: nested(levels - 1) });

  test("rules are found down to the deepest level of a schema that can be stored", () => {
    assert.equal(declaresRules(nested(maxSchemaDepth)), true);
    assert.equal(declaresRules(nested(maxSchemaDepth + 1)), false);
  });
});

describe("the tree of rules", () => {
  const tree = (schema: Schema): NonNullable<ReturnType<typeof createRuleSet>> =>
    createRuleSet(schema) ?? assert.fail("the schema has rules");

  test("a node without rules below it is left out", () => {
    const set = tree({ type: "object", properties: { a: { type: "string" }, b: { type: "string", ...ruled } } });
    assert.deepEqual([...set.properties.keys()], ["b"]);
    assert.equal(set.items, undefined);
    assert.equal(set.values, undefined);
    assert.deepEqual(set.allOf, []);
  });

  test("a node counts its own rules only", () => {
    const set = tree({ type: "object", properties: { b: { type: "string", ...ruled } } });
    assert.equal(set.ruleCount, 0);
    assert.equal(set.properties.get("b")?.ruleCount, 1);
  });

  test("parts of allOf count when rules are elsewhere too, and take their types from the schema around them", () => {
    const part: Schema = { properties: { a: { "x-kubernetes-validations": [{ rule: "self.startsWith('x')" }] } } };
    const set = tree({ type: "object", properties: { a: { type: "string" } }, ...ruled, allOf: [part, {}] });
    assert.equal(set.allOf.length, 1);
    const rule = set.allOf[0]?.properties.get("a")?.rule(0);
    assert.equal(rule?.error, undefined);
    assert.ok(rule?.condition);
  });

  test("a part of allOf cannot add a property", () => {
    const set = tree({ type: "object", properties: {}, ...ruled, allOf: [{ properties: { a: ruled } }] });
    assert.deepEqual(set.allOf, []);
  });

  test("a rule is compiled once", () => {
    const set = tree({ type: "object", ...ruled });
    assert.equal(set.rule(0), set.rule(0));
  });

  test("a rule that does not exist is blank", () => {
    assert.deepEqual(tree({ type: "object", ...ruled }).rule(5), { rule: { rule: "" } });
  });

  test("values that expressions cannot see are marked, and their rules have no program", () => {
    const set = tree({ "x-kubernetes-preserve-unknown-fields": true, ...ruled });
    assert.equal(set.isVisible, false);
    assert.deepEqual(set.rule(0), { rule: { rule: "true" } });
    assert.equal(tree({ type: "object", ...ruled }).isVisible, true);
  });

  test("a property whose name cannot be selected has rules of its own", () => {
    const own: Schema = { type: "string", "x-kubernetes-validations": [{ rule: "self != ''" }] };
    const set = tree({ type: "object", properties: { $ref: own } });
    assert.equal(set.properties.get("$ref")?.rule(0).error, undefined);
    assert.ok(set.properties.get("$ref")?.rule(0).condition);
  });

  test("an embedded resource shows its kind and its name, other objects do not", () => {
    const inner = (more: Schema): Schema => ({
      type: "object",
      ...more,
      "x-kubernetes-validations": [{ rule: "self.kind == 'Pod' && self.metadata.name != ''" }],
    });
    const set = tree({
      type: "object",
      properties: {
        resource: inner({ "x-kubernetes-embedded-resource": true }),
        other: inner({ properties: { a: { type: "string" } } }),
      },
    });
    assert.equal(set.properties.get("resource")?.rule(0).error, undefined);
    assert.match(set.properties.get("other")?.rule(0).error ?? "", /undefined field 'kind'/);
  });

  test("an embedded resource whose name cannot be selected is a resource too, another object is not", () => {
    const rules = { "x-kubernetes-validations": [{ rule: "self.kind == 'Pod'" }] };
    const set = tree({
      type: "object",
      properties: {
        $resource: { type: "object", "x-kubernetes-embedded-resource": true, ...rules },
        $other: { type: "object", ...rules },
      },
    });
    assert.equal(set.properties.get("$resource")?.rule(0).error, undefined);
    assert.match(set.properties.get("$other")?.rule(0).error ?? "", /undefined field 'kind'/);
  });

  test("the root of a schema is a resource by default", () => {
    const schema: Schema = { type: "object", "x-kubernetes-validations": [{ rule: "self.kind != ''" }] };
    assert.equal(createRuleSet(schema)?.rule(0).error, undefined);
    assert.match(createRuleSet(schema, false)?.rule(0).error ?? "", /undefined field 'kind'/);
  });
});
