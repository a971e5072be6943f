// SPDX-License-Identifier: Apache-2.0
import { intType, listOf, stringType } from "../types/types.ts";
import { CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { ArrayList } from "../values/list.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import { findCost } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, signature } from "./function.ts";
import { compilePattern, estimateSteps, type Pattern } from "./pattern.ts";

/** What a function does with a pattern once that is compiled. */
type PatternUse = (pattern: Pattern, args: readonly Value[], meter: Meter) => Value;

/** A pattern that is not written in the expression is compiled on every call. */
export function compileThen(use: PatternUse, problemPrefix = ""): Implementation {
  return (args, meter) => {
    const [text, source] = args;
    if (typeof text !== "string" || typeof source !== "string") return noSuchOverload;
    const pattern = compileOnce(source, meter);
    return isError(pattern) ? new CelError(problemPrefix + pattern.message) : use(pattern, args, meter);
  };
}

interface Compiled {
  readonly source: string;
  readonly pattern: Pattern | CelError;
}

// The last pattern of each evaluation: one that does not change within a loop is compiled once.
const lastCompiled: WeakMap<Meter, Compiled> = new WeakMap();

// Classes of letters take long to prepare, however short they are as text.
const compilingWork = 10_000;

function compileOnce(source: string, meter: Meter): Pattern | CelError {
  const last = lastCompiled.get(meter);
  if (last?.source === source) return last.pattern;
  meter.spend(compilingWork + estimateSteps(source) * 256);
  const pattern = compilePattern(source);
  lastCompiled.set(meter, { source, pattern });
  return pattern;
}

/** At worst every character of the text goes through every step of the pattern. */
function spendOnMatching(pattern: Pattern, text: string, meter: Meter): void {
  meter.spend((text.length * pattern.size) / 2);
}

const matchUse =
  (match: (pattern: Pattern, text: string) => Value): PatternUse =>
  (pattern, [text], meter) => {
    if (typeof text !== "string") return noSuchOverload;
    spendOnMatching(pattern, text, meter);
    return match(pattern, text);
  };

export const matchPattern: PatternUse = matchUse((pattern, text) => pattern.isIn(text));
const findPattern: PatternUse = matchUse((pattern, text) => pattern.find(text));

const findAllPattern: PatternUse = (pattern, [text, , limit = -1n], meter) => {
  if (typeof text !== "string" || typeof limit !== "bigint") return noSuchOverload;
  spendOnMatching(pattern, text, meter);
  const found = pattern.findAll(text, Number(limit));
  meter.elements(found.length);
  return new ArrayList(found);
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
