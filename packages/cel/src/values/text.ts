// SPDX-License-Identifier: Apache-2.0

import { utf8Length } from "@purlin/kube-objects/json";
import { CelError, type Meter } from "./value.ts";

/** Whether code points and UTF-16 units are the same in a text. The engine knows it of most texts without looking. */
function isBasic(text: string): boolean {
  return !/[\ud800-\udbff]/.test(text);
}

/** The number of code points: what CEL calls the size of a string. */
export function textSize(text: string): number {
  let size = text.length;
  if (isBasic(text)) return size;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code >= 0xd800 && code <= 0xdbff && isLowSurrogate(text.charCodeAt(index + 1))) {
      size--;
      index++;
    }
  }
  return size;
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

const outOfRange = (index: bigint): CelError => new CelError(`index out of range: ${index}`);

/** The UTF-16 offset of the code point at an index. */
function unitOffset(text: string, index: number): number {
  if (isBasic(text)) return index;
  let units = 0;
  for (let points = 0; points < index; points++) units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
  return units;
}

export function characterAt(text: string, index: bigint): string | CelError {
  const size = textSize(text);
  if (index < 0n || index > size) return outOfRange(index);
  const unit = unitOffset(text, Number(index));
  const code = text.codePointAt(unit);
  return code === undefined ? "" : String.fromCodePoint(code);
}

export function indexOfText(text: string, part: string, from: bigint): bigint | CelError {
  if (part === "") return from;
  if (from < 0n) return outOfRange(from);
  if (from >= BigInt(textSize(text))) return -1n;
  return pointIndex(text, text.indexOf(part, unitOffset(text, Number(from))));
}

/** `from` undefined means from the end. */
export function lastIndexOfText(text: string, part: string, from: bigint | undefined): bigint | CelError {
  const size = BigInt(textSize(text));
  if (from === undefined) {
    if (part === "") return size;
    if (utf8Length(text) < utf8Length(part)) return -1n;
    return lastIndexOfText(text, part, size - 1n);
  }
  if (part === "") return from;
  if (from < 0n) return outOfRange(from);
  if (from >= size) return -1n;
  return pointIndex(text, text.lastIndexOf(part, unitOffset(text, Number(from))));
}

function pointIndex(text: string, unit: number): bigint {
  return unit <= 0 ? BigInt(unit) : BigInt(textSize(text.slice(0, unit)));
}

/** From one code point up to, not including, another. */
export function substringOf(text: string, start: bigint, end: bigint | undefined): string | CelError {
  const size = BigInt(textSize(text));
  const stop = end ?? size;
  if (end !== undefined && start > stop) return new CelError(`invalid substring range. start: ${start}, end: ${end}`);
  if (start < 0n || start > size) return outOfRange(start);
  if (stop < 0n || stop > size) return outOfRange(stop);
  return text.slice(unitOffset(text, Number(start)), unitOffset(text, Number(stop)));
}

interface Replacing {
  readonly old: string;
  readonly by: string;
  /** How many at most; negative for all. */
  readonly limit: bigint;
}

export function replaceText(text: string, { old, by, limit }: Replacing, meter: Meter): string {
  const pieces = old === "" ? ["", ...Array.from(text), ""] : text.split(old);
  const count = limit < 0n ? pieces.length - 1 : Math.min(Number(limit), pieces.length - 1);
  meter.spend(pieces.length + ((text.length + count * by.length) >> 4));
  const replaced = pieces.slice(0, count + 1).join(by);
  const rest = pieces.slice(count + 1);
  return rest.length === 0 ? replaced : replaced + old + rest.join(old);
}

/** `limit` negative for all parts; else the last part holds the rest. */
export function splitText(text: string, separator: string, limit: bigint): string[] {
  if (limit === 0n) return [];
  const parts = separator === "" ? Array.from(text) : text.split(separator);
  if (limit < 0n || parts.length <= limit) return parts;
  const kept = Number(limit) - 1;
  return [...parts.slice(0, kept), parts.slice(kept).join(separator)];
}

const leadingSpace = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;
const space = /[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/;

/** Without white space at both ends, by Unicode's definition. */
export function trimSpace(text: string): string {
  let end = text.length;
  while (end > 0 && space.test(text.charAt(end - 1))) end--;
  return text.slice(0, end).replace(leadingSpace, "");
}
