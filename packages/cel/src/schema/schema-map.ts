// SPDX-License-Identifier: Apache-2.0

import { type Equal, ListValue, MapValue } from "../values/collections.ts";
import { equalParts } from "../values/operations.ts";
import { type CelError, isError, type Meter, noSuchOverload, OptionalValue, type Value } from "../values/value.ts";
import { isRawBacked, isRawInteger, isRawObject, isSameJson, type RawBacked, type RawObject } from "./raw-json.ts";
import { escapeName, type SchemaNode, unescapeName } from "./schema-node.ts";

/**
 * Remembers what was read from data, so that reading it again gives the same value. Bytes are then decoded once, and a
 * large map lists its keys once, instead of in every round of a loop. Text and numbers are read faster than remembered.
 */
export class ReadMemo<K extends string | number> {
  #known: Map<K, Value> | undefined;

  get(key: K): Value | undefined {
    return this.#known?.get(key);
  }

  /** Gives the value back. */
  keep(key: K, value: Value): Value {
    if (typeof value === "object" && value !== null) {
      this.#known ??= new Map();
      this.#known.set(key, value);
    }
    return value;
  }
}

/** Reads JSON through a schema; handed in, because objects hold objects. */
export type ReadValue = (raw: unknown, node: SchemaNode) => Value;

/** An object or map of the data, read through its schema. */
export class SchemaMap extends MapValue {
  readonly raw: RawObject;
  readonly #node: SchemaNode;
  readonly #read: ReadValue;
  readonly #children: ReadMemo<string> = new ReadMemo();
  #names: readonly string[] | undefined;

  constructor(raw: RawObject, node: SchemaNode, read: ReadValue) {
    super();
    this.raw = raw;
    this.#node = node;
    this.#read = read;
  }

  get size(): number {
    return this.#rawNames().length;
  }

  #rawNames(): readonly string[] {
    this.#names ??= Object.keys(this.raw);
    return this.#names;
  }

  find(key: Value): Value | undefined {
    if (typeof key !== "string") return isError(key) ? key : noSuchOverload;
    const name = this.#node.isObject ? unescapeName(key) : key;
    return name === undefined ? undefined : this.#read1(name);
  }

  #read1(name: string): Value | undefined {
    const known = this.#children.get(name);
    if (known) return known;
    if (!Object.hasOwn(this.raw, name)) return undefined;
    const raw = this.raw[name];
    if (this.#node.isObject && (raw === null || raw === undefined)) return undefined;
    const schema = this.#node.property(name);
    return schema && this.#children.keep(name, this.#read(raw, schema));
  }

  override contains(key: Value): boolean | CelError {
    const found = this.find(key);
    return isError(found) ? found : found !== undefined;
  }

  *keys(): Iterable<Value> {
    for (const name of this.#rawNames()) {
      if (!this.#node.property(name)) continue;
      yield (this.#node.isObject ? escapeName(name) : undefined) ?? name;
    }
  }

  override equals(other: Value, _equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof MapValue)) return isError(other) ? other : noSuchOverload;
    if (other.size !== this.size) return false;
    for (const name of this.#rawNames()) {
      meter.elements(3);
      const isEqual = this.#node.property(name)
        ? this.#equalField(name, other, meter)
        : this.#equalUnknown(name, other, meter);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }

  #equalField(name: string, other: MapValue, meter: Meter): boolean | CelError {
    const here = this.find(name);
    const there = other.find(name);
    if (here === undefined || there === undefined) return here === there;
    return equalParts(here, there, meter);
  }

  // Fields the schema does not declare are compared as they are, if both sides have them.
  #equalUnknown(name: string, other: MapValue, meter: Meter): boolean | CelError {
    if (!(other instanceof SchemaMap)) return noSuchOverload;
    if (!Object.hasOwn(other.raw, name)) return true;
    return isSameJson(this.raw[name], other.raw[name], meter);
  }
}

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
