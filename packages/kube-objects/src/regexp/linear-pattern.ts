// SPDX-License-Identifier: Apache-2.0
// Patterns come from users, so matching one must take time linear in the text, and little of it. RE2 gives the first; the
// limits here give the second, since a step of a large program costs as much as the program is long.
// Patterns that users write are matched by RE2, in time linear in the text.
import { createRequire } from "node:module";

/** A regular expression in RE2 syntax, searched for anywhere in a text. */
interface LinearPattern {
  /** Why the pattern cannot be used; undefined when it can. */
  readonly problem: string | undefined;
  /** At most how many steps a text of this many characters takes. */
  steps(length: number): number;
  /** Whether the text contains a match. False when there is a problem. */
  test(text: string): boolean;
}

const maxPatternSize = 20_000;
const maxCached = 1_000;
const cache = new Map<string, LinearPattern>();

/** The pattern, compiled once. Never throws: `problem` says why a pattern is not a valid RE2 expression, or is too large. */
export function linearPattern(source: string): LinearPattern {
  const known = cache.get(source);
  if (known) return known;
  if (cache.size >= maxCached) cache.clear();
  const pattern = compile(source);
  cache.set(source, pattern);
  return pattern;
}

function compile(source: string): LinearPattern {
  if (source.length > maxPatternSize || patternSize(source) > maxPatternSize) return unusable("expression too large");
  try {
    const program = loadRe2().RE2JS.compile(source);
    const size = program.programSize();
    return { problem: undefined, steps: (length) => size * length, test: (text) => program.test(text) };
  } catch (error) {
    return unusable(error instanceof Error ? error.message : String(error));
  }
}

function unusable(problem: string): LinearPattern {
  return { problem, steps: () => 0, test: () => false };
}

type Re2 = typeof import("re2js");

const require = createRequire(import.meta.url);
let re2: Re2 | undefined;

/** RE2, loaded with the first pattern: most programs that import this package never need it. */
export function loadRe2(): Re2 {
  re2 ??= require("re2js") as Re2;
  return re2;
}

// An escape, a class in brackets, a repetition, or any other character. No class has a name of more than 64 characters; without a bound,
// unclosed names would be read to the end of the pattern again and again.
const tokens =
  /\\[pPx]\{[^}]{0,64}\}|\\[pP]?[\s\S]|\[\^?\]?(?:\[:[^\]]{0,64}:\]|\\[\s\S]|[^\]])*\]?|\{[0-9]+,?[0-9]*\}|[\s\S]/gu;

/**
 * About how many instructions a regular expression compiles to. RE2 unrolls repetitions (`(ab){3}` is `ababab`), so a short text can be a
 * huge program; this is known before it is compiled. `sizeOfAtom` weighs a character, an escape or a class; each counts as 1 by default.
 * Malformed patterns have some size as well.
 */
export function patternSize(pattern: string, sizeOfAtom: (token: string) => number = () => 1): number {
  const outer: number[] = [];
  let size = 0;
  let atom = 0;
  for (const [token] of pattern.matchAll(tokens)) {
    if (token === "(") {
      outer.push(size + atom);
      size = 0;
      atom = 0;
    } else if (token === ")") {
      atom = size + atom + 2;
      size = outer.pop() ?? 0;
    } else if (token.length > 2 && token.startsWith("{")) {
      atom *= repetitions(token);
    } else if (token === "*" || token === "+" || token === "?") {
      atom += 1;
    } else {
      size += atom;
      atom = sizeOfAtom(token);
    }
  }
  return outer.reduce((total, part) => total + part, size + atom);
}

function repetitions(token: string): number {
  const [least = 0, most = 0] = token.slice(1, -1).split(",").map(Number);
  return Math.max(least, most, 1);
}
