// SPDX-License-Identifier: Apache-2.0
import { loadRe2, patternSize } from "@purlin/kube-objects/regexp";
import { CelError, isError } from "../values/cel-error.ts";

/** A regular expression in RE2's syntax, matched in time linear in the text. */
export interface Pattern {
  /** The number of its steps, by which the time of a match is bounded. */
  readonly size: number;
  isIn(text: string): boolean;
  /** The first match, or an empty string. */
  find(text: string): string;
  /** All matches, or the first `limit` if that is not negative. */
  findAll(text: string, limit: number): string[];
}

/** Compiles a pattern, or says what is wrong with it in the words Go has for it. */
export function compilePattern(source: string): Pattern | CelError {
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
export function estimateSteps(source: string): number {
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
