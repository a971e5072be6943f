// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { type CheckOptions, checkRules } from "./check-rules.ts";

const ruled = (...rules: readonly Partial<ValidationRule>[]): Schema => ({
  type: "object",
  "x-kubernetes-validations": rules as readonly ValidationRule[],
});
const fields = (schema: Schema, options: Partial<CheckOptions> = {}): readonly string[] =>
  checkRules(schema, { path: "s", ...options }).map(({ field }) => field);

const wrong = { rule: "self.nope" };
const nested: Schema = { type: "object", properties: { a: ruled(wrong), b: ruled(wrong) }, ...ruled(wrong) };
const ruleAt = (place: string): string => `${place}x-kubernetes-validations[0].rule`;

test("rules are compiled where the schema is in order: not on or above a place that is wrong", () => {
  const [a, b, root] = ["s.properties[a].", "s.properties[b].", "s."].map(ruleAt);
  assert.deepEqual(fields(nested), [a, b, root]);
  assert.deepEqual(fields(nested, { brokenPaths: ["s.properties[a].type"] }), [b]);
});

test("a schema that is not structural has the texts of its rules checked, and nothing compiled", () => {
  assert.deepEqual(fields(nested, { textsOnly: true }), []);
  assert.deepEqual(fields(ruled({ rule: " " }), { textsOnly: true }), [ruleAt("s.")]);
});

test("texts are checked wherever a rule can be written, also where none may be", () => {
  const blank = ruled({ rule: "" });
  const everywhere: Schema = {
    additionalProperties: blank,
    items: blank,
    not: blank,
    allOf: [blank],
    oneOf: [blank],
    anyOf: [blank],
  };
  assert.deepEqual(
    fields(everywhere),
    ["additionalProperties.", "not.", "allOf[0].", "oneOf[0].", "anyOf[0].", "items."].map((at) => ruleAt(`s.${at}`)),
  );
});

test("a rule without a text is a rule that is not specified", () => {
  assert.deepEqual(fields(ruled({})), [ruleAt("s.")]);
});
