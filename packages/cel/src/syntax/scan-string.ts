// SPDX-License-Identifier: Apache-2.0
import type { Scan } from "./lexer.ts";
import { T } from "./token.ts";

/** Scans a string or bytes literal that may start here; undefined when none can. */
export function scanString(points: readonly string[], start: number): Scan | undefined {
  const first = points[start];
  const isBytes = first === "b" || first === "B";
  const afterBytes = isBytes ? start + 1 : start;
  const isRaw = points[afterBytes] === "r" || points[afterBytes] === "R";
  const open = isRaw ? afterBytes + 1 : afterBytes;
  const quote = points[open];
  if (quote !== '"' && quote !== "'") return undefined;
  const end = scanQuoted(points, open, isRaw);
  if (end < 0) return { failedAt: -end };
  return { type: isBytes ? T.bytes : T.string, end };
}

/** The offset after the closing quote, or the negated offset at which the literal broke off. */
function scanQuoted(points: readonly string[], open: number, isRaw: boolean): number {
  const quote = points[open] ?? "";
  const isTriple = points[open + 1] === quote && points[open + 2] === quote;
  if (isTriple) {
    const end = scanTriple(points, open + 3, { quote, isRaw });
    // An unclosed triple quote still starts with an empty literal.
    return end < 0 ? open + 2 : end;
  }
  let at = open + 1;
  while (points[at] !== quote) {
    const point = points[at];
    if (point === undefined || point === "\n" || point === "\r") return -at;
    if (point === "\\" && !isRaw) {
      const next = skipEscape(points, at);
      if (next < 0) return next;
      at = next;
    } else at++;
  }
  return at + 1;
}

interface Quoting {
  readonly quote: string;
  readonly isRaw: boolean;
}

function scanTriple(points: readonly string[], start: number, { quote, isRaw }: Quoting): number {
  let at = start;
  while (at < points.length) {
    if (points[at] === quote && points[at + 1] === quote && points[at + 2] === quote) return at + 3;
    if (points[at] === "\\" && !isRaw) {
      const next = skipEscape(points, at);
      if (next < 0) return next;
      at = next;
    } else at++;
  }
  return -at;
}

const hexLengths: ReadonlyMap<string, number> = new Map([
  ["x", 2],
  ["X", 2],
  ["u", 4],
  ["U", 8],
]);

/** The offset after an escape sequence, or the negated offset at which it is wrong. */
function skipEscape(points: readonly string[], start: number): number {
  const kind = points[start + 1] ?? "";
  if (kind !== "" && "abfnrtv\"'\\?`".includes(kind)) return start + 2;
  const hexLength = hexLengths.get(kind);
  if (hexLength !== undefined)
    return skipMatching(points, { start: start + 2, count: hexLength, pattern: /^[0-9a-fA-F]$/ });
  if (kind >= "0" && kind <= "3") return skipMatching(points, { start: start + 2, count: 2, pattern: /^[0-7]$/ });
  return -(start + 1);
}

interface Digits {
  readonly start: number;
  readonly count: number;
  readonly pattern: RegExp;
}

function skipMatching(points: readonly string[], { start, count, pattern }: Digits): number {
  for (let at = start; at < start + count; at++) {
    if (!pattern.test(points[at] ?? "")) return -at;
  }
  return start + count;
}
