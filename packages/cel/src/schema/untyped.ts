// SPDX-License-Identifier: Apache-2.0
import { ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import { OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";
import { isRawInteger, isRawObject, type RawObject } from "./raw-json.ts";
import { ReadMemo } from "./read-memo.ts";
import { isRawBacked, type RawBacked } from "./to-raw.ts";

/**
 * Data seen without its schema. Kubernetes' evaluator drops the schema of what is inside an optional when it selects
 * further: dates are then plain strings.
 */
export function withoutSchema(value: Value): Value {
  // Optionals inside optionals are dropped on the same occasion.
  if (value instanceof OptionalValue) return value.hasValue ? withoutSchema(value.value) : null;
  return isRawBacked(value) ? untypedOnce(value) : value;
}

// A value that is read again is the same value, with what it remembers.
const known: WeakMap<RawBacked, Value> = new WeakMap();

function untypedOnce(value: RawBacked): Value {
  const made = known.get(value) ?? untyped(value.raw);
  known.set(value, made);
  return made;
}

/** JSON without a schema. */
export function untyped(raw: unknown): Value {
  if (raw === null || raw === undefined) return null;
  if (isRawInteger(raw)) return BigInt(raw);
  if (Array.isArray(raw)) return new UntypedList(raw);
  return isRawObject(raw) ? new UntypedMap(raw) : (raw as Value);
}

class UntypedList extends ListValue {
  readonly raw: readonly unknown[];
  readonly #children: ReadMemo<number> = new ReadMemo();

  constructor(raw: readonly unknown[]) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return this.raw.length;
  }

  get(index: number): Value {
    return this.#children.get(index) ?? this.#children.keep(index, untyped(this.raw[index]));
  }
}

class UntypedMap extends MapValue {
  readonly raw: RawObject;
  readonly #children: ReadMemo<string> = new ReadMemo();
  #names: readonly string[] | undefined;

  constructor(raw: RawObject) {
    super();
    this.raw = raw;
  }

  get size(): number {
    return this.#rawNames().length;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string" || !Object.hasOwn(this.raw, key)) return undefined;
    return this.#children.get(key) ?? this.#children.keep(key, untyped(this.raw[key]));
  }

  keys(): Iterable<Value> {
    return this.#rawNames();
  }

  #rawNames(): readonly string[] {
    this.#names ??= Object.keys(this.raw);
    return this.#names;
  }
}
