// SPDX-License-Identifier: Apache-2.0
import { type Issue, locationOf, type Source } from "./source.ts";
import { keywords, punctuation, T, type Token, type TokenType } from "./token.ts";

interface Tokens {
  /** Ends with an end-of-input token. Empty when there are too many issues. */
  readonly tokens: readonly Token[];
  readonly issues: readonly Issue[];
}

/** What a scanner found at a place: a token, or the place where no token could continue. */
type Scan = { readonly type: TokenType; readonly end: number } | { readonly failedAt: number };

const maxIssues = 100;

/**
 * Splits an expression into tokens. Invalid characters are reported and skipped, as the reference lexer does, until there
 * are too many such places.
 */
export function tokenize(source: Source): Tokens {
  const tokens: Token[] = [];
  const issues: Issue[] = [];
  const { points } = source;
  let at = 0;
  let before = "";
  while (at < points.length) {
    const skipped = skipHidden(points, at);
    if (skipped > at) {
      before += points.slice(at, skipped).join("");
      at = skipped;
      continue;
    }
    const scan = scanToken(points, at);
    if ("failedAt" in scan) {
      const text = points.slice(at, scan.failedAt + 1).join("");
      const message = `Syntax error: token recognition error at: '${text}'`;
      issues.push({ location: locationOf(source, at), message });
      if (issues.length > maxIssues) return { tokens: [], issues };
      at = Math.min(scan.failedAt + 1, points.length);
      continue;
    }
    tokens.push({ type: scan.type, text: points.slice(at, scan.end).join(""), start: at, before });
    before = "";
    at = scan.end;
  }
  // The end of an empty text is in front of its first column.
  tokens.push({ type: T.eof, text: "<EOF>", start: points.length === 0 ? -1 : points.length, before });
  return { tokens, issues };
}

function skipHidden(points: readonly string[], start: number): number {
  let at = start;
  while (isSpace(points[at])) at++;
  if (at > start || points[at] !== "/" || points[at + 1] !== "/") return at;
  while (at < points.length && points[at] !== "\n") at++;
  return at;
}

function scanToken(points: readonly string[], at: number): Scan {
  const first = points[at] ?? "";
  const number = scanNumber(points, at);
  if (number) return number;
  const string = scanString(points, at);
  if (string && "type" in string) return string;
  if (isIdentifierStart(first)) return scanIdentifier(points, at);
  if (string) return string;
  if (first === "`") return scanEscapedIdentifier(points, at);
  const pair = first + (points[at + 1] ?? "");
  const symbol = punctuation.find(([text]) => text === pair || text === first);
  if (symbol) return { type: symbol[1], end: at + symbol[0].length };
  // `&`, `|` and `=` could have become a token, so the character after them is part of the failure.
  return { failedAt: "&|=".includes(first) ? at + 1 : at };
}

function scanIdentifier(points: readonly string[], start: number): Scan {
  let at = start;
  while (isIdentifierPart(points[at])) at++;
  return { type: keywords.get(points.slice(start, at).join("")) ?? T.identifier, end: at };
}

function scanEscapedIdentifier(points: readonly string[], start: number): Scan {
  let at = start + 1;
  while (isIdentifierPart(points[at]) || ".-/ ".includes(points[at] ?? "~")) at++;
  const isClosed = points[at] === "`" && at > start + 1;
  return isClosed ? { type: T.escapedIdentifier, end: at + 1 } : { failedAt: at };
}

function scanNumber(points: readonly string[], start: number): Scan | undefined {
  if (points[start] === "0" && points[start + 1] === "x" && isHexDigit(points[start + 2])) {
    let at = start + 2;
    while (isHexDigit(points[at])) at++;
    return isUintSuffix(points[at]) ? { type: T.uint, end: at + 1 } : { type: T.int, end: at };
  }
  const whole = skipDigits(points, start);
  const hasFraction = points[whole] === "." && isDigit(points[whole + 1]);
  if (whole === start && !hasFraction) return undefined;
  const mantissa = hasFraction ? skipDigits(points, whole + 1) : whole;
  const end = skipExponent(points, mantissa);
  if (hasFraction || end > mantissa) return { type: T.float, end };
  return isUintSuffix(points[whole]) ? { type: T.uint, end: whole + 1 } : { type: T.int, end: whole };
}

function skipDigits(points: readonly string[], start: number): number {
  let at = start;
  while (isDigit(points[at])) at++;
  return at;
}

function skipExponent(points: readonly string[], start: number): number {
  if (points[start] !== "e" && points[start] !== "E") return start;
  const digits = points[start + 1] === "+" || points[start + 1] === "-" ? start + 2 : start + 1;
  const end = skipDigits(points, digits);
  return end > digits ? end : start;
}

const isSpace = (point: string | undefined): boolean => point !== undefined && "\t \r\n\f".includes(point);
const isDigit = (point: string | undefined): boolean => point !== undefined && point >= "0" && point <= "9";
const isUintSuffix = (point: string | undefined): boolean => point === "u" || point === "U";
const isHexDigit = (point: string | undefined): boolean => point !== undefined && /^[0-9a-fA-F]$/.test(point);
const isIdentifierStart = (point: string): boolean => /^[A-Za-z_]$/.test(point);
const isIdentifierPart = (point: string | undefined): boolean => point !== undefined && /^[A-Za-z0-9_]$/.test(point);

/** Scans a string or bytes literal that may start here; undefined when none can. */
function scanString(points: readonly string[], start: number): Scan | undefined {
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
