// SPDX-License-Identifier: Apache-2.0
import { CelError, isError } from "../values/cel-error.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import { estimateSteps } from "./pattern-size.ts";

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
