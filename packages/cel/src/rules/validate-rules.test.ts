// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createRuleSet } from "./rule-set.ts";
import { validateRules, validatingRules } from "./validate-rules.ts";

const rule = (text: string): { readonly rule: string } => ({ rule: text });
const schema = {
  type: "object",
  properties: { list: { type: "array", maxItems: 5, items: { type: "string", maxLength: 3 } } },
  "x-kubernetes-validations": [rule("self.list.size() > 0"), rule("self.list[0] == 'a'"), rule("self.list.size() > 2")],
};

test("rules run in parts, one rule with each, with the result of a run at once", () => {
  const rules = createRuleSet(schema) ?? assert.fail("the schema has rules");
  const value = { list: ["b"] };
  const work = validatingRules(rules, value);
  let parts = 0;
  let part = work.next();
  for (; part.done !== true; part = work.next()) parts++;
  assert.equal(parts, 3);
  assert.deepEqual(part.value, validateRules(rules, value));
  assert.deepEqual(
    part.value.errors.map(({ body }) => body),
    ["Invalid value: failed rule: self.list[0] == 'a'", "Invalid value: failed rule: self.list.size() > 2"],
  );
});
