// SPDX-License-Identifier: Apache-2.0
import { intType, listOf, stringType } from "../check/types.ts";
import { CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { ArrayList } from "../values/list.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import { findCost } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, signature } from "./function.ts";
import { compilePattern, type Pattern } from "./pattern.ts";

/** What a function does with a pattern once that is compiled. */
export type PatternUse = (pattern: Pattern, args: readonly Value[]) => Value;

/** A pattern that is not written in the expression is compiled on every call. */
export function compileThen(use: PatternUse, problemPrefix = ""): Implementation {
  return (args, meter) => {
    const [text, source] = args;
    if (typeof text !== "string" || typeof source !== "string") return noSuchOverload;
    spendOnCompiling(source, meter);
    const pattern = compilePattern(source);
    return isError(pattern) ? new CelError(problemPrefix + pattern.message) : use(pattern, args);
  };
}

function spendOnCompiling(source: string, meter: Meter): void {
  meter.spend(source.length * 8);
}

export const matchPattern: PatternUse = (pattern, [text]) =>
  typeof text === "string" ? pattern.isIn(text) : noSuchOverload;

export const findPattern: PatternUse = (pattern, [text]) =>
  typeof text === "string" ? pattern.find(text) : noSuchOverload;

export const findAllPattern: PatternUse = (pattern, [text, , limit = -1n]) => {
  if (typeof text !== "string" || typeof limit !== "bigint") return noSuchOverload;
  return new ArrayList(pattern.findAll(text, Number(limit)));
};

/** The functions that take a pattern as their second argument; a literal one is compiled with the expression. */
export const patternUses: ReadonlyMap<string, PatternUse> = new Map([
  ["matches", matchPattern],
  ["find", findPattern],
  ["findAll", findAllPattern],
]);

const both = [stringType, stringType];
const illegal = "Illegal regex: ";

/** Kubernetes' regular expression functions. */
export const regexFunctions: readonly FunctionDecl[] = [
  {
    name: "find",
    cost: findCost,
    overloads: [memberOverload(signature("string_find_string", both, stringType), compileThen(findPattern, illegal))],
  },
  {
    name: "findAll",
    cost: findCost,
    overloads: [
      memberOverload(
        signature("string_find_all_string", both, listOf(stringType)),
        compileThen(findAllPattern, illegal),
      ),
      memberOverload(
        signature("string_find_all_string_int", [...both, intType], listOf(stringType)),
        compileThen(findAllPattern, illegal),
        { stopsAtError: true },
      ),
    ],
  },
];
