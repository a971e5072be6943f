// SPDX-License-Identifier: Apache-2.0
// The reference's patch library never reads a number: it moves its text about, and compares it as a text. So 1.0 is not 1 to it, and
// what is 1.0 in a patch is 1.0 in the result. Here a number that is written otherwise than the server writes it goes through the
// operations of a patch as a text that no JSON can hold, and is a number again in the end.
import { isPartDone, type Work } from "@purlin/base";
import { goJson } from "../json/go-text.ts";
import type { Fractions } from "../json/json-reader.ts";
import { isJsonArray, isJsonObject, type JsonValue, setOwnValue } from "../json/json-value.ts";
import { copying } from "../json/map-members.ts";

/** Half of a character: reading JSON gives none. */
const mark = "\ud800";

/** A value with the numbers of `fractions` in it marked, unless they are written as the server would write them. */
export function markNumbers(value: JsonValue, fractions: Fractions | string | undefined): JsonValue {
  if (fractions === undefined) return value;
  if (typeof fractions === "string") {
    const isNumber = typeof value === "number" && goJson(value) !== fractions;
    return isNumber ? `${mark}${fractions}` : value;
  }
  if (isJsonArray(value)) return value.map((item, index) => markNumbers(item, fractions.get(index)));
  if (!isJsonObject(value)) return value;
  const out: Record<string, JsonValue> = { ...value };
  for (const [key, below] of fractions) {
    if (typeof key === "string" && Object.hasOwn(value, key))
      setOwnValue(out, key, markNumbers(value[key] ?? null, below));
  }
  return out;
}

/** How a marked number was written; undefined for anything else. */
export function writtenNumber(value: JsonValue): string | undefined {
  return typeof value === "string" && value.startsWith(mark) ? value.slice(mark.length) : undefined;
}

/** A value whose marked numbers are numbers again, and where they are. */
export interface WrittenValue {
  readonly value: JsonValue;
  readonly fractions?: Fractions | undefined;
}

/** Makes numbers of marked ones, in parts. What has none in it stays the same object. */
export function* unmarkingNumbers(value: JsonValue): Work<WrittenValue> {
  const { value: plain, fractions } = yield* unmark(value);
  return { value: plain, ...(fractions instanceof Map && { fractions }) };
}

interface Unmarked {
  readonly value: JsonValue;
  readonly fractions: Fractions | string | undefined;
}

function* unmark(value: JsonValue): Work<Unmarked> {
  const written = writtenNumber(value);
  if (written !== undefined) return { value: Number(written), fractions: written };
  if (!isJsonObject(value) && !isJsonArray(value)) return { value, fractions: undefined };
  return isJsonArray(value) ? yield* unmarkList(value) : yield* unmarkObject(value);
}

/** Whether a value can have marked numbers in it. */
const mayBeMarked = (value: JsonValue): boolean =>
  typeof value === "string" ? value.startsWith(mark) : typeof value === "object" && value !== null;

function* unmarkList(list: readonly JsonValue[]): Work<Unmarked> {
  const fractions = new Map<string | number, Fractions | string>();
  let out: JsonValue[] | undefined;
  for (const [index, item] of list.entries()) {
    if (isPartDone()) yield;
    if (!mayBeMarked(item)) continue;
    const { value, fractions: below } = yield* unmark(item);
    if (below === undefined) continue;
    fractions.set(index, below);
    out ??= [...list];
    out[index] = value;
  }
  return out === undefined ? { value: list, fractions: undefined } : { value: out, fractions };
}

function* unmarkObject(object: Readonly<Record<string, JsonValue>>): Work<Unmarked> {
  const fractions = new Map<string | number, Fractions | string>();
  let out: Record<string, JsonValue> | undefined;
  for (const key of Object.keys(object)) {
    if (isPartDone()) yield;
    const member = object[key] ?? null;
    if (!mayBeMarked(member)) continue;
    const { value, fractions: below } = yield* unmark(member);
    if (below === undefined) continue;
    fractions.set(key, below);
    out ??= yield* copying(object);
    setOwnValue(out, key, value);
  }
  return out === undefined ? { value: object, fractions: undefined } : { value: out, fractions };
}
