// SPDX-License-Identifier: Apache-2.0
// Patterns come from users, so matching one must take time linear in the text, and little of it. RE2 gives the first; the
// limits here give the second, since a step of a large program costs as much as the program is long.
import { patternSize } from "./pattern-size.ts";
import { loadRe2 } from "./re2.ts";

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
