// SPDX-License-Identifier: Apache-2.0
import { createRequire } from "node:module";
import type { RE2JS } from "re2js";
import { CelError } from "../values/cel-error.ts";

type Engine = typeof import("re2js");

const require = createRequire(import.meta.url);
let engine: Engine | undefined;

/** Loaded when the first pattern is compiled: most programs that import CEL never need it. */
function loadEngine(): Engine {
  engine ??= require("re2js") as Engine;
  return engine;
}

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
  const { RE2JS, RE2JSSyntaxException } = loadEngine();
  try {
    return createPattern(RE2JS.compile(source));
  } catch (problem) {
    if (!(problem instanceof RE2JSSyntaxException)) throw problem;
    const message = (problem as Error).message;
    return new CelError(message.endsWith("backslash at end of expression") ? `${message}: \`\`` : message);
  }
}

function createPattern(regexp: RE2JS): Pattern {
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
