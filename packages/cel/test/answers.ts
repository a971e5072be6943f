// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Schema } from "@purlin/kube-objects/schema";
import { estimateCost } from "../src/estimate/estimate.ts";
import { compile } from "../src/program.ts";
import { isError } from "../src/values/value.ts";
import { createSchemaEnv } from "./expression.ts";
import { showValue } from "./show-value.ts";

/** An expression and what Kubernetes makes of it. What is left out is not compared. */
interface AnswerRow {
  /** What the row shows. */
  readonly why: string;
  readonly expr: string;
  /** The value in the notation of `showValue`, or ERR, PLAN or COMPILE and a message. */
  readonly is?: string;
  /** The problems that refuse an expression of one line, each as its column and message: "5: undefined field 'a'". */
  readonly refused?: string | readonly string[];
  readonly cost?: number;
  /** The estimate of the cost. */
  readonly min?: bigint;
  readonly max?: bigint;
}

/** What `self` is. */
export interface Subject {
  readonly schema: Schema;
  readonly self: unknown;
}

type Answer = Omit<AnswerRow, "why" | "expr" | "refused">;

const nothing: Subject = { schema: { type: "object" }, self: {} };

/** What comes of an expression. */
function answerTo(expr: string, { schema, self }: Subject = nothing): Answer {
  const env = createSchemaEnv(schema) ?? assert.fail("expressions cannot see the schema");
  const program = compile(expr, env.environment);
  if ("problem" in program) return { is: `${program.stage.toUpperCase()} ${program.problem}` };
  const { value, cost } = program.evaluate({ self: env.read(self) }, 1_000_000);
  return {
    is: isError(value) ? `ERR ${value.message}` : showValue(value),
    cost,
    ...estimateCost(program.root, env.decl),
  };
}

/** What `is` shows of problems: each with the expression and a mark below its column. */
function compileText(expr: string, refused: string | readonly string[]): string {
  const problems = typeof refused === "string" ? [refused] : refused;
  const texts = problems.map((problem) => {
    const mark = `${".".repeat(Number.parseInt(problem, 10) - 1)}^`;
    return `ERROR: <input>:1:${problem}\n | ${expr}\n | ${mark}`;
  });
  return `COMPILE ${texts.join("\n")}`;
}

/** Tests each expression of a table. */
export function testAnswers(rows: readonly AnswerRow[], subject?: Subject): void {
  for (const { why, expr, refused, ...rest } of rows) {
    test(`${why}: ${expr}`, () => {
      const answer = answerTo(expr, subject);
      const expected = refused === undefined ? rest : { ...rest, is: compileText(expr, refused) };
      const compared = Object.keys(expected).map((key) => [key, answer[key as keyof Answer]]);
      assert.deepEqual(Object.fromEntries(compared), expected);
    });
  }
}
