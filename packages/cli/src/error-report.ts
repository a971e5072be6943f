// SPDX-License-Identifier: Apache-2.0
import type { Io } from "./io.ts";
import { harmlessLine } from "./terminal/harmless.ts";
import { createStyle } from "./terminal/style.ts";
import { isAnswer, isUserError, textOf } from "./user-error.ts";

/**
 * Tells the user about an error in one line on stderr, with stack traces only when asked for, and returns the exit code.
 * An error nobody foresaw says so, because then the stack trace is what helps.
 */
export function reportError(error: unknown, io: Io, options: { readonly debug: boolean }): number {
  const style = createStyle(io.stderr, io.env);
  const expected = isUserError(error);
  const hint =
    expected || isAnswer(error) || options.debug
      ? ""
      : ": this should not happen; add --debug to see where it comes from";
  io.stderr.write(`${style.bad("error:")} ${harmlessLine(textOf(error))}${hint}\n`);
  if (options.debug) io.stderr.write(`${stackOf(error)}\n`);
  return expected ? error.exitCode : 1;
}

/** The stack traces of an error and its causes. */
function stackOf(error: unknown): string {
  const stacks: string[] = [];
  const seen = new Set<unknown>();
  for (let at = error; at instanceof Error && !seen.has(at); at = at.cause) {
    seen.add(at);
    stacks.push(at.stack ?? at.message);
  }
  return stacks.join("\ncaused by ");
}
