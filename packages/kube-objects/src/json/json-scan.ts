// SPDX-License-Identifier: Apache-2.0
// One pass over JSON text that decides whether JSON.parse alone gives the right answer: it does unless a number needs
// more than 53 bits, the nesting is too deep for recursive code, or a key comes twice (then there are more pairs in the
// text than keys in the result).
import { isJsonArray, isJsonObject } from "./json-value.ts";

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

/** How many keys the objects inside a value have together. */
export function countKeys(value: unknown): number {
  if (isJsonArray(value)) {
    let total = 0;
    for (const item of value) if (typeof item === "object") total += countKeys(item);
    return total;
  }
  if (!isJsonObject(value)) return 0;
  const keys = Object.keys(value);
  let total = keys.length;
  for (const key of keys) {
    const child = value[key];
    if (typeof child === "object") total += countKeys(child);
  }
  return total;
}
