// SPDX-License-Identifier: Apache-2.0
// The reference's patch library never reads a number: it moves its text about, and compares it as a text. So 1.0 is not 1 to it, and
// what is 1.0 in a patch is 1.0 in the result. Here a number that is written otherwise than the server writes it goes through the
// operations of a patch as a text that no JSON can hold, and is a number again in the end.
import { goJson } from "../json/go-text.ts";
import type { Fractions } from "../json/json-reader.ts";
import { isJsonArray, isJsonObject, type JsonValue } from "../json/json-value.ts";
import { setOwnValue } from "../json/own-value.ts";

/** Half of a character: reading JSON gives none. */
const MARK = "\ud800";

/** A value with the numbers of `fractions` in it marked, unless they are written as the server would write them. */
export function markNumbers(value: JsonValue, fractions: Fractions | string | undefined): JsonValue {
  if (fractions === undefined) return value;
  if (typeof fractions === "string") {
    const isNumber = typeof value === "number" && goJson(value) !== fractions;
    return isNumber ? `${MARK}${fractions}` : value;
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
  return typeof value === "string" && value.startsWith(MARK) ? value.slice(MARK.length) : undefined;
}

/** A value whose marked numbers are numbers again, and where they are. */
export interface WrittenValue {
  readonly value: JsonValue;
  readonly fractions?: Fractions | undefined;
}

/** Makes numbers of marked ones. What has none in it stays the same object. */
export function unmarkNumbers(value: JsonValue): WrittenValue {
  const { value: plain, fractions } = unmark(value);
  return { value: plain, ...(fractions instanceof Map && { fractions }) };
}

interface Unmarked {
  readonly value: JsonValue;
  readonly fractions: Fractions | string | undefined;
}

function unmark(value: JsonValue): Unmarked {
  const written = writtenNumber(value);
  if (written !== undefined) return { value: Number(written), fractions: written };
  if (!isJsonObject(value) && !isJsonArray(value)) return { value, fractions: undefined };
  return isJsonArray(value) ? unmarkList(value) : unmarkObject(value);
}

function unmarkList(list: readonly JsonValue[]): Unmarked {
  const fractions = new Map<string | number, Fractions | string>();
  const out = list.map((item, index) => {
    const { value, fractions: below } = unmark(item);
    if (below !== undefined) fractions.set(index, below);
    return value;
  });
  return fractions.size === 0 ? { value: list, fractions: undefined } : { value: out, fractions };
}

function unmarkObject(object: Readonly<Record<string, JsonValue>>): Unmarked {
  const fractions = new Map<string | number, Fractions | string>();
  let out: Record<string, JsonValue> | undefined;
  for (const [key, member] of Object.entries(object)) {
    const { value, fractions: below } = unmark(member);
    if (below === undefined) continue;
    fractions.set(key, below);
    out ??= { ...object };
    setOwnValue(out, key, value);
  }
  return out === undefined ? { value: object, fractions: undefined } : { value: out, fractions };
}
