// SPDX-License-Identifier: Apache-2.0
import { join } from "node:path";

/** What a function that checks or limits begins with instead, by the text before its body. */
export const replacements: Readonly<Record<string, string>> = {
  // Requests in flight of one user.
  "async begin(user: string, onGone?: OnGone, mayRefuse = true): Promise<() => void> {": "return () => {};",
  // How long work may take in one turn of the event loop.
  "const isSpent = (): boolean =>": "false &&",
  // Values in the body of a request.
  "export function requireFewValues(values: number): void {": "return;",
  // What is wrong with the response of a function.
  "): Promise<AnswerProblem | undefined> {": "return undefined;",
  // HTTP/2 frames on the connection to a function.
  "export function guardFrames(socket: Socket, clock: Clock = systemClock): Duplex {": "return socket;",
};

/** A source file without its checks; undefined where it has none. */
export function withoutChecks(source: string): string | undefined {
  const found = Object.entries(replacements).filter(([line]) => source.includes(line));
  if (found.length === 0) return undefined;
  return found.reduce((text, [line, instead]) => text.replace(line, () => `${line} ${instead}`), source);
}

/** For Node: run without limits. */
export const withoutLimits: string = `--import=${join(import.meta.dirname, "without-limits.ts")}`;
