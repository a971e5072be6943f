// SPDX-License-Identifier: Apache-2.0
// Rules over whole objects and schemas, with the errors of Kubernetes 1.36 for them.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FieldError } from "@purlin/kube-objects/errors";
import type { Schema } from "@purlin/kube-objects/schema";
import { readTable } from "../../test/expressions.ts";
import { checkRules } from "./check-rules.ts";
import { createRuleSet } from "./rule-set.ts";
import { objectCostLimit } from "./schema-places.ts";
import { validateRules } from "./validate-rules.ts";

interface ValidationCase {
  readonly why: string;
  readonly schema: Schema;
  readonly self: unknown;
  readonly oldSelf?: unknown;
  readonly budget?: number;
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly left: number;
}

interface SchemaCase {
  readonly why: string;
  readonly schema: Schema;
  readonly errors: readonly string[];
}

// The order of errors at different fields is not defined, so texts are compared sorted.
const texts = (errors: readonly FieldError[]): string[] => errors.map(({ field, body }) => `${field}: ${body}`).sort();

for (const expected of readTable<ValidationCase>("validations")) {
  test(`validation: ${expected.why}`, () => {
    const rules = createRuleSet(expected.schema);
    const costLimit = expected.budget ?? objectCostLimit;
    const outcome = rules
      ? validateRules(rules, expected.self, { oldValue: expected.oldSelf, costLimit })
      : { errors: [], unchanged: [], costLeft: costLimit };
    assert.deepEqual(
      { errors: texts(outcome.errors), warnings: texts(outcome.unchanged), left: outcome.costLeft },
      { errors: expected.errors, warnings: expected.warnings, left: expected.left },
    );
  });
}

for (const { why, schema, errors } of readTable<SchemaCase>("schemas")) {
  test(`schema check: ${why}`, () => {
    assert.deepEqual(texts(checkRules(schema, { path: "spec.validation.openAPIV3Schema" })), errors);
  });
}
