// SPDX-License-Identifier: Apache-2.0

import { toJson } from "./admission/to-json.ts";
import { compile } from "./program.ts";
import { untyped } from "./schema/untyped.ts";
import { renderIssues } from "./syntax/issues.ts";
import { parse } from "./syntax/parser.ts";
import { createSource } from "./syntax/source.ts";
import type { CelType } from "./types/types.ts";
import { dynType } from "./types/types.ts";
import { isError } from "./values/cel-error.ts";

const costLimit = 10_000_000;

/** Why a text is not an expression; undefined if it is one. Its variables and functions are not looked up. */
export function syntaxProblem(text: string): string | undefined {
  const source = createSource(text);
  const parsed = parse(source);
  return "issues" in parsed ? renderIssues(source, parsed.issues) : undefined;
}

/** The value of an expression over JSON variables, or why there is none. */
export function evaluateExpression(
  text: string,
  variables: Readonly<Record<string, unknown>>,
): { readonly value: unknown } | { readonly problem: string } {
  const types = new Map<string, CelType>(Object.keys(variables).map((name) => [name, dynType]));
  const program = compile(text, { variables: types, objects: new Map() });
  if ("problem" in program) return { problem: program.problem };
  const values = Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, untyped(value)]));
  const { value } = program.evaluate(values, costLimit);
  return isError(value) ? { problem: value.message } : { value: toJson(value) };
}
