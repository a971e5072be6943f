// SPDX-License-Identifier: Apache-2.0
import type { Meter } from "../values/meter.ts";

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

/** What Go calls the type of a piece of JSON. */
export function goTypeOf(value: unknown): string {
  if (isRawInteger(value)) return "int64";
  if (typeof value === "number" || typeof value === "bigint") return "float64";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}";
}
