// SPDX-License-Identifier: Apache-2.0
import { finish, isPartDone, type Work } from "@purlin/base";
import { type JsonReading, readingJson, readJson } from "./json-reader.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "./json-value.ts";

/** Deeper documents are refused: code that walks objects here is recursive, and no real object comes near it. */
export const maxJsonDepth = 1000;

/**
 * Parses JSON text the way the reference server does: int64 stays exact (bigint beyond ±2^53), a key that comes twice
 * keeps its last value. Throws JsonSyntaxError with the reference's message.
 */
export function parseJson(text: string): JsonValue {
  const scan = scanJson(text);
  if (scan.needsReader || scan.depth > maxJsonDepth) return readJson(text, maxJsonDepth).value;
  return parsePlain(text) ?? readJson(text, maxJsonDepth).value;
}

/** JSON.parse makes this many members of objects in about 25 ms. More are read in parts. */
const maxPairsAtOnce = 50_000;

/** {@link parseJson} in parts. `onScan` is called with the number of values there are about, before any is made. */
export function* parsingJson(text: string, onScan?: (values: number) => void): Work<JsonValue> {
  const scan = scanJson(text);
  onScan?.(scan.values);
  yield;
  return (isPlain(scan) ? parsePlain(text) : undefined) ?? (yield* readingJson(text, maxJsonDepth)).value;
}

/** Whether JSON.parse reads the text as it should, and soon enough. */
function isPlain({ needsReader, depth, pairs }: JsonScan): boolean {
  return !needsReader && depth <= maxJsonDepth && pairs <= maxPairsAtOnce;
}

/**
 * Like {@link parseJson}, and also returns the field path of every key that occurs more than once (at most 100), and the numbers that are
 * not written as integers.
 */
export function parseJsonStrict(text: string): JsonReading {
  return finish(parsingJsonStrict(text));
}

/** The same in parts. `onScan` is called with the number of values there are about, before any is made. */
export function* parsingJsonStrict(text: string, onScan?: (values: number) => void): Work<JsonReading> {
  const scan = scanJson(text);
  onScan?.(scan.values);
  yield;
  if (!isPlain(scan) || scan.hasFractions) return yield* readingJson(text, maxJsonDepth);
  const value = parsePlain(text);
  yield;
  if (value === undefined || (yield* countingKeys(value)) !== scan.pairs) return yield* readingJson(text, maxJsonDepth);
  return { value, duplicates: [] };
}

// Text JSON.parse refuses is read again for the message; both accept exactly the same texts.
function parsePlain(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Options of {@link printJson}. */
export interface PrintJsonOptions {
  /** Spaces per level, at most 10; none by default, all on one line. */
  readonly indent?: number;
  /** Writes `<`, `>`, `&` and the line separators of Unicode as escapes, as Go does, so that no page can be broken by a text. */
  readonly htmlSafe?: boolean;
}

/** Prints a value as JSON text; bigint comes out as the integer it is. Keys keep their order. */
export function printJson(value: JsonValue | object, options: PrintJsonOptions = {}): string {
  const text = print(value, options.indent);
  return options.htmlSafe === true && dangerous.test(text) ? text.replaceAll(allDangerous, escaped) : text;
}

function print(value: JsonValue | object, indent: number | undefined): string {
  try {
    return JSON.stringify(value, undefined, indent);
  } catch (error) {
    // JSON.stringify refuses bigint. Asking every value first would slow every object down for a rare integer.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(value, integerAsIs, indent);
  }
}

// Outside of strings JSON has none of these, so they can be replaced in the text.
const dangerous = /[<>&\u2028\u2029]/;
const allDangerous = /[<>&\u2028\u2029]/g;

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

// Part of the language since 2025 and in Node, yet not in the compiler's library.
const { rawJSON } = JSON as unknown as { rawJSON(text: string): unknown };

function integerAsIs(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? rawJSON(value.toString()) : value;
}

// One pass over JSON text that decides whether JSON.parse alone gives the right answer: it does unless a number needs
// more than 53 bits, the nesting is too deep for recursive code, or a key comes twice (then there are more pairs in the
// text than keys in the result).

/** What a scan found out about a JSON text. Only meaningful when the text is valid. */
interface JsonScan {
  /** How many `"key": value` pairs the text has. */
  readonly pairs: number;
  /** About how many values the text has: never fewer, at most one more for each list and object that is empty. */
  readonly values: number;
  /** How deep objects and arrays nest. */
  readonly depth: number;
  /** Whether a number or a string may come out of JSON.parse different from what the reference server reads. */
  readonly needsReader: boolean;
  /** Whether a number is not written as an integer. */
  readonly hasFractions: boolean;
}

const longestExactNumber = 15;
const surrogateEscape = /\\u[dD][89a-fA-F]/;

const char = {
  quote: 34,
  plus: 43,
  comma: 44,
  minus: 45,
  dot: 46,
  zero: 48,
  nine: 57,
  colon: 58,
  upperE: 69,
  openArray: 91,
  backslash: 92,
  closeArray: 93,
  lowerE: 101,
  openObject: 123,
  closeObject: 125,
} as const;

/** Scans JSON text without building values. Never throws, also on text that is not JSON. */
export function scanJson(text: string): JsonScan {
  let pairs = 0;
  let values = 1;
  let depth = 0;
  let deepest = 0;
  let needsReader = surrogateEscape.test(text);
  let hasFractions = false;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === char.quote) {
      i = endOfString(text, i);
    } else if (c === char.colon) {
      pairs++;
    } else if (c === char.comma) {
      values++;
    } else if (c === char.openObject || c === char.openArray) {
      values++;
      depth++;
      if (depth > deepest) deepest = depth;
    } else if (c === char.closeObject || c === char.closeArray) {
      depth--;
    } else if (c === char.minus || (c >= char.zero && c <= char.nine)) {
      const end = endOfNumber(text, i);
      if (end - i > longestExactNumber || isUnusual(text, i, end)) needsReader = true;
      hasFractions ||= isFraction(text, i, end);
      i = end - 1;
    }
  }
  return { pairs, values, depth: deepest, needsReader, hasFractions };
}

/** How many values a JSON text has, about: see {@link JsonScan.values}. */
export function countJsonValues(text: string): number {
  return scanJson(text).values;
}

function endOfString(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end === -1 ? text.length : end;
}

function isEscaped(text: string, position: number): boolean {
  let i = position - 1;
  while (text.charCodeAt(i) === char.backslash) i--;
  return (position - i) % 2 === 0;
}

function endOfNumber(text: string, start: number): number {
  let i = start + 1;
  while (i < text.length && isNumberChar(text.charCodeAt(i))) i++;
  return i;
}

function isNumberChar(c: number): boolean {
  if (c >= char.zero && c <= char.nine) return true;
  return c === char.dot || c === char.lowerE || c === char.upperE || c === char.minus || c === char.plus;
}

// An exponent may overflow to infinity, and -0 would stay negative.
function isUnusual(text: string, start: number, end: number): boolean {
  if (text.charCodeAt(start) === char.minus && text.charCodeAt(start + 1) === char.zero) return true;
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c === char.lowerE || c === char.upperE) return true;
  }
  return false;
}

function isFraction(text: string, start: number, end: number): boolean {
  for (let i = start; i < end; i++) {
    const c = text.charCodeAt(i);
    if (c === char.dot || c === char.lowerE || c === char.upperE) return true;
  }
  return false;
}

/** How many keys the objects inside a value have together, counted in parts. */
function* countingKeys(value: unknown): Work<number> {
  if (isJsonArray(value)) {
    let total = 0;
    for (const item of value) {
      if (isPartDone()) yield;
      if (typeof item === "object" && item !== null) total += yield* countingKeys(item);
    }
    return total;
  }
  if (!isJsonObject(value)) return 0;
  const keys = Object.keys(value);
  let total = keys.length;
  for (const key of keys) {
    if (isPartDone()) yield;
    const child = value[key];
    if (typeof child === "object" && child !== null) total += yield* countingKeys(child);
  }
  return total;
}
