// SPDX-License-Identifier: Apache-2.0
import { goJson } from "../json/go-text.ts";
import { isContainer, isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";

/** A value with its JSON type as the reference server sees it, which knows integers (64 bit) from other numbers. */
export type KindedValue =
  | { readonly kind: "null"; readonly value: null }
  | { readonly kind: "boolean"; readonly value: boolean }
  | { readonly kind: "string"; readonly value: string }
  | { readonly kind: "integer"; readonly value: number | bigint }
  | { readonly kind: "number"; readonly value: number }
  | { readonly kind: "array"; readonly value: JsonArray }
  | { readonly kind: "object"; readonly value: JsonObject };

const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;

/** Returns the kind of any value. What JSON cannot hold (undefined, functions, symbols) counts as null. */
export function kindedValue(value: unknown): KindedValue {
  if (typeof value === "string") return { kind: "string", value };
  if (typeof value === "boolean") return { kind: "boolean", value };
  if (typeof value === "number") return kindedNumber(value);
  if (typeof value === "bigint") return kindedInteger(value);
  if (Array.isArray(value)) return { kind: "array", value };
  if (isJsonObject(value)) return { kind: "object", value };
  return { kind: "null", value: null };
}

function kindedNumber(value: number): KindedValue {
  if (Number.isSafeInteger(value)) return { kind: "integer", value };
  return Number.isInteger(value) ? kindedInteger(BigInt(value)) : { kind: "number", value };
}

function kindedInteger(value: bigint): KindedValue {
  if (!isInt64(value)) return { kind: "number", value: Number(value) };
  const small = Number(value);
  return { kind: "integer", value: Number.isSafeInteger(small) ? small : value };
}

/** Whether an integer fits in 64 bits with sign. */
export function isInt64(value: bigint): boolean {
  return value >= minInt64 && value <= maxInt64;
}

/** Cuts a number to an integer as Go does on common processors: what does not fit becomes the smallest integer. */
export function toInt64(value: number): bigint {
  if (!Number.isFinite(value)) return minInt64;
  const whole = BigInt(Math.trunc(value));
  return isInt64(whole) ? whole : minInt64;
}

/**
 * A value to be printed or compared as a whole. Both recurse, so what is nested too deeply is replaced by a text that
 * says so: two such values count as the same.
 */
export function wholeValue(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  return isNestedDeeperThan(value, maxNesting) ? `(nested deeper than ${maxNesting} levels)` : value;
}

/** A text that two values share exactly when they are equal: the order of keys does not matter, 1 and 1.0 are the same. */
export function valueKey(value: JsonValue): string {
  if (typeof value === "string") return `"${value}`; // an open quote distinguishes it from everything else
  return typeof value === "object" ? goJson(wholeValue(value)) : String(value);
}

/**
 * How deeply schemas and checked values may be nested. Walking them recurses, and a stack that overflows takes the whole
 * request with it; no real schema comes near.
 */
export const maxNesting = 1_000;

/** Whether a value has arrays and objects nested more than `limit` levels deep. Does not recurse; a cycle is deep. */
export function isNestedDeeperThan(value: unknown, limit: number): boolean {
  let level = new Set<object>(isContainer(value) ? [value] : []);
  for (let depth = 1; level.size > 0; depth++) {
    if (depth > limit) return true;
    // A set, so that a part used twice is looked at once a level.
    const next = new Set<object>();
    for (const container of level) {
      for (const member of Object.values(container)) if (isContainer(member)) next.add(member);
    }
    level = next;
  }
  return false;
}
