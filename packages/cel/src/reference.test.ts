// SPDX-License-Identifier: Apache-2.0
// Every line of the tables in testdata is an expression with the answer of Kubernetes 1.36: result or error text, cost,
// and the cost estimate. The tables were recorded by evaluating the expressions with Kubernetes' own libraries.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { createSchemaEnv, type ReferenceCase, readSubject, readTable, showValue } from "../test/expressions.ts";
import { estimateCost } from "./estimate/estimate.ts";
import { compile } from "./program.ts";
import { formatType } from "./types/types.ts";
import { isError, none, OptionalValue } from "./values/value.ts";

interface Subject {
  readonly schema: Schema;
  readonly self: unknown;
  readonly oldSelf: unknown;
}

const subject = readSubject<Subject>();
const env = createSchemaEnv(subject.schema);
const optionalEnv = createSchemaEnv(subject.schema, { hasOptionalOldSelf: true });
assert.ok(env && optionalEnv);

function answer({ expr, isNew = false, optOld = false }: ReferenceCase): ReferenceCase {
  const used = optOld ? optionalEnv : env;
  assert.ok(used);
  const program = compile(expr, used.environment);
  if ("problem" in program) return { [program.stage]: program.problem } as unknown as ReferenceCase;
  const estimate = estimateCost(program.root, used.decl);
  const old = isNew ? undefined : used.read(subject.oldSelf);
  const optionalOld = old === undefined ? none : new OptionalValue(old);
  const variables = { self: used.read(subject.self), oldSelf: optOld ? optionalOld : old };
  const { value, cost } = program.evaluate(variables, 1_000_000);
  return {
    expr,
    type: formatType(program.type),
    ...(isError(value) ? { error: value.message } : { value: showValue(value) }),
    cost,
    min: String(estimate.min),
    max: String(estimate.max),
  };
}

const tables = [
  "conversions",
  "data",
  "generated",
  "generated-syntax",
  "limits",
  "lists",
  "macros",
  "network",
  "operators",
  "optionals",
  "quantities",
  "strings",
  "syntax",
  "times",
  "types",
] as const;

for (const table of tables) {
  test(`expressions of ${table} are answered as Kubernetes answers them`, () => {
    const cases = readTable<ReferenceCase>(table);
    assert.ok(cases.length > 0);
    for (const expected of cases) {
      const { expr: _expr, ...actual } = answer(expected);
      const { expr, isNew: _isNew, optOld: _optOld, ...wanted } = expected;
      assert.deepEqual(actual, wanted, expr);
    }
  });
}
