// SPDX-License-Identifier: Apache-2.0

import { finish, isPartDone, type Work } from "@purlin/base";
import { elementsOf, LazyMap, ListValue, MapValue } from "../values/collections.ts";
import { toText } from "../values/convert.ts";
import { Duration, Timestamp } from "../values/time-values.ts";
import { type Meter, OptionalValue, Uint, type Value } from "../values/value.ts";

/** Data as JSON readers hand it over. Integers beyond 2^53 are bigints. */
export type RawObject = Readonly<Record<string, unknown>>;

export function isRawObject(value: unknown): value is RawObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && isPlain(value);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Whether a number is an integer of 64 bits, in whatever form it comes. */
export function isRawInteger(value: unknown): value is number | bigint {
  if (typeof value === "bigint") return BigInt.asIntN(64, value) === value;
  return typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 63;
}

interface Pair {
  readonly a: unknown;
  readonly b: unknown;
}

/** Whether two pieces of JSON are the same. Keeps its own stack: data without schema can be nested deeply. */
export function isSameJson(a: unknown, b: unknown, meter?: Meter): boolean {
  const todo: Pair[] = [{ a, b }];
  for (let pair = todo.pop(); pair; pair = todo.pop()) {
    meter?.elements(3);
    if (typeof pair.a === "string") meter?.characters(pair.a.length);
    const parts = compare(pair);
    if (!parts) return false;
    for (const part of parts) todo.push(part);
  }
  return true;
}

/** Undefined when the two differ; else the parts that are still to be compared. */
function compare({ a, b }: Pair): readonly Pair[] | undefined {
  if (a === b) return [];
  if (isRawInteger(a) && isRawInteger(b)) return BigInt(a) === BigInt(b) ? [] : undefined;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length ? a.map((one, index) => ({ a: one, b: b[index] })) : undefined;
  }
  if (!isRawObject(a) || !isRawObject(b)) return undefined;
  const keys = Object.keys(a);
  if (keys.length !== Object.keys(b).length || keys.some((key) => !Object.hasOwn(b, key))) return undefined;
  return keys.map((key) => ({ a: a[key], b: b[key] }));
}

// Values of expressions that were added to a list of data.
const goTypes = [
  [Timestamp, "time.Time"],
  [Duration, "time.Duration"],
  [Uint8Array, "[]uint8"],
  [Uint, "uint64"],
] as const;

/** What Go calls the type of a piece of JSON. */
export function goTypeOf(value: unknown): string {
  if (isRawInteger(value)) return "int64";
  if (typeof value === "number" || typeof value === "bigint") return "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (Array.isArray(value)) return "[]interface {}";
  if (isRawObject(value)) return "map[string]interface {}";
  return goTypes.find(([type]) => value instanceof type)?.[1] ?? "float64";
}

/** Values that are data from an object and can give it back as it was. */
export interface RawBacked {
  readonly raw: unknown;
}

export function isRawBacked(value: unknown): value is RawBacked {
  return typeof value === "object" && value !== null && "raw" in value;
}

/** The data behind a value. Values that JSON has no form for, such as timestamps, stay what they are. */
export function toRaw(value: Value): unknown {
  if (isRawBacked(value)) return value.raw;
  if (value instanceof OptionalValue) return value.hasValue ? toRaw(value.value) : null;
  return value instanceof ListValue ? [...elementsOf(value)].map(toRaw) : value;
}

/** A value has no form in JSON. */
export class NoJsonError extends Error {}

/** A value of an expression as JSON. A list that was added to itself over and over is far larger than what it took to make it. */
export function toJson(value: Value, meter: Meter): unknown {
  return finish(convertingToJson(value, meter));
}

/** {@link toJson} in parts. */
export function* convertingToJson(value: Value, meter: Meter): Work<unknown> {
  if (isRawBacked(value)) return value.raw;
  if (value instanceof OptionalValue) return value.hasValue ? yield* convertingToJson(value.value, meter) : null;
  if (value instanceof ListValue) {
    meter.elements(value.size);
    const elements: unknown[] = [];
    for (let index = 0; index < value.size; index++) {
      if (isPartDone()) yield;
      const element = value.get(index);
      elements.push(isScalar(element) ? scalarJson(element) : yield* convertingToJson(element, meter));
    }
    return elements;
  }
  if (value instanceof LazyMap) throw new NoJsonError(`disallowed conversion from "${value.typeName}" to ""`);
  if (value instanceof MapValue) {
    meter.elements(value.size);
    const entries: (readonly [string, unknown])[] = [];
    for (const key of value.keys()) {
      if (isPartDone()) yield;
      entries.push([String(toText(key)), yield* convertingToJson(value.find(key) ?? null, meter)]);
    }
    return Object.fromEntries(entries);
  }
  return scalarJson(value);
}

/** Whether a value consists of no others. */
export function isScalar(value: Value): boolean {
  return !(value instanceof ListValue || value instanceof MapValue || value instanceof OptionalValue);
}

function scalarJson(value: Value): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (value instanceof Uint) return Number(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Timestamp || value instanceof Duration) return toText(value);
  return isRawBacked(value) ? value.raw : value;
}
