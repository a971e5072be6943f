// SPDX-License-Identifier: Apache-2.0
// What happens when rules cost more than they may.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { createRuleSet } from "./rule-set.ts";
import { objectCostLimit } from "./schema-places.ts";
import { validateRules } from "./validate-rules.ts";

/** Costs two: the variable, and a comparison of two short strings. */
const cheap = { rule: "self == 'x'", message: "m" };

function run(
  rules: readonly ValidationRule[],
  options: { readonly value?: unknown; readonly costLimit?: number } = {},
): { readonly errors: readonly string[]; readonly costLeft: number } {
  const schema: Schema = {
    type: "object",
    properties: {
      a: { type: "string", "x-kubernetes-validations": rules },
      b: { type: "string", "x-kubernetes-validations": [{ rule: "false", message: "after" }] },
    },
  };
  const { value = { a: "x", b: "y" }, costLimit = objectCostLimit } = options;
  const set = createRuleSet(schema) ?? assert.fail("the schema has rules");
  const { errors, costLeft } = validateRules(set, value, { costLimit });
  return { errors: errors.map(({ field, body }) => `${field}: ${body}`), costLeft };
}

const after = 'b: Invalid value: "y": after';
const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

test("what rules cost is taken from the budget of the object", () => {
  assert.deepEqual(run([cheap]), { errors: [after], costLeft: objectCostLimit - 2 });
  assert.deepEqual(run([cheap, cheap]), { errors: [after], costLeft: objectCostLimit - 4 });
});

test("a budget that is spent to the last is enough for the rule, not for the next place", () => {
  assert.deepEqual(run([cheap], { costLimit: 2, value: { a: "x" } }), { errors: [], costLeft: 0 });
  assert.deepEqual(run([cheap], { costLimit: 2 }), {
    errors: [`b: Invalid value: "string": ${outOfBudget}`],
    costLeft: -1,
  });
});

test("a rule that costs more than is left ends the run", () => {
  const refused = { errors: [`a: Invalid value: "string": ${outOfBudget}`], costLeft: -1 };
  assert.deepEqual(run([cheap], { costLimit: 1 }), refused);
  assert.deepEqual(run([cheap, cheap], { costLimit: 3 }), refused, "the first rule was true");
});

test("nothing runs without a budget", () => {
  assert.deepEqual(run([cheap], { costLimit: 0 }), {
    errors: [`a: Invalid value: "string": ${outOfBudget}`],
    costLeft: -1,
  });
});

// Each step of the inner loop costs a few units: 400 x 400 x 10 of them are over the limit of one rule, which is a million.
const list = `[${Array.from({ length: 400 }, (_, at) => at).join(",")}]`;
const expensive = `${list}.all(x, ${list}.all(y, [0,1,2,3,4,5,6,7,8,9].all(z, x + y + z >= 0)))`;

test("a rule that costs more than one rule may ends the run", () => {
  const { errors, costLeft } = run([{ rule: expensive, message: "m" }]);
  assert.deepEqual(errors, [
    "a: Invalid value: \"string\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: m",
  ]);
  assert.equal(costLeft, -1);
});

test("a message expression that costs more than one rule may ends the run", () => {
  const messageExpression = `${expensive} ? 'a' : 'b'`;
  const { errors, costLeft } = run([{ rule: "false", messageExpression }]);
  assert.deepEqual(errors, [
    `a: Invalid value: "string": no further validation rules will be run due to call cost exceeds limit for messageExpression: ${JSON.stringify(messageExpression)}`,
  ]);
  assert.equal(costLeft, -1);
});

test("a message expression that costs more than is left ends the run", () => {
  const rule = { rule: "self != 'x'", messageExpression: "self + self" };
  assert.deepEqual(run([rule], { costLimit: 5, value: { a: "x" } }), {
    errors: ['a: Invalid value: "x": xx'],
    costLeft: 0,
  });
  assert.deepEqual(run([rule], { costLimit: 4 }), {
    errors: [
      'a: Invalid value: "string": messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run',
    ],
    costLeft: -1,
  });
});
