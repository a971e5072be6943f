// SPDX-License-Identifier: Apache-2.0

import { loadRe2, patternSize } from "@purlin/kube-objects/regexp";
import { intType, listOf, stringType } from "../types/types.ts";
import { ArrayList } from "../values/collections.ts";
import { CelError, isError, type Meter, noSuchOverload, type Value } from "../values/value.ts";
import { findCost } from "./costs.ts";
import { type FunctionDecl, type Implementation, memberOverload, signature } from "./function.ts";

/** A regular expression in RE2's syntax, matched in time linear in the text. */
interface Pattern {
  /** The number of its steps, by which the time of a match is bounded. */
  readonly size: number;
  isIn(text: string): boolean;
  /** The first match, or an empty string. */
  find(text: string): string;
  /** All matches, or the first `limit` if that is not negative. */
  findAll(text: string, limit: number): string[];
}

/** Compiles a pattern, or says what is wrong with it in the words Go has for it. */
function compilePattern(source: string): Pattern | CelError {
  const { RE2JS, RE2JSSyntaxException } = loadRe2();
  try {
    return createPattern(RE2JS.compile(source));
  } catch (problem) {
    if (!(problem instanceof RE2JSSyntaxException)) throw problem;
    const message = (problem as Error).message;
    return new CelError(message.endsWith("backslash at end of expression") ? `${message}: \`\`` : message);
  }
}

type Regexp = ReturnType<ReturnType<typeof loadRe2>["RE2JS"]["compile"]>;

function createPattern(regexp: Regexp): Pattern {
  return {
    size: regexp.programSize(),
    isIn: (text) => regexp.test(text),
    find: (text) => {
      const matcher = regexp.matcher(text);
      return matcher.find() ? (matcher.group() ?? "") : "";
    },
    findAll: (text, limit) => {
      const found: string[] = [];
      const matcher = regexp.matcher(text);
      let end = -1;
      while (found.length !== limit && matcher.find()) {
        // An empty match directly after a match does not count.
        const isRepeat = matcher.start() === matcher.end() && matcher.start() === end;
        if (!isRepeat) found.push(matcher.group() ?? "");
        end = matcher.end();
      }
      return found;
    },
  };
}

// Classes of letters are tables of hundreds of ranges.
const letterClassSteps = 50;

/** About how many steps a pattern has once it is compiled. */
function estimateSteps(source: string): number {
  return patternSize(source, atomSteps);
}

function atomSteps(token: string): number {
  const classes = token.match(/\\[pP]/g)?.length ?? 0;
  return classes * letterClassSteps + (token.startsWith("[") ? token.length / 2 : 1);
}

const maxSteps = 50_000;
// Preparing even the shortest pattern takes as long as many steps.
const leastSteps = 50;

/** Refuses patterns that are valid, but would take too long to prepare. */
export const tooManyPatterns: CelError = new CelError("the regular expressions are too many or too large");

/** The patterns written in an expression. Each is compiled once, and together they are bounded. */
export class PatternStore {
  readonly #known: Map<string, Pattern | CelError> = new Map();
  #stepsLeft = maxSteps;

  compile(source: string): Pattern | CelError {
    const known = this.#known.get(source);
    if (known) return known;
    this.#stepsLeft -= leastSteps + estimateSteps(source);
    if (this.#stepsLeft < 0) return tooManyPatterns;
    const pattern = compilePattern(source);
    if (!isError(pattern)) this.#known.set(source, pattern);
    return pattern;
  }
}

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
