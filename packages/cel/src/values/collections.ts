// SPDX-License-Identifier: Apache-2.0

import { Duration, Timestamp } from "./time-values.ts";
import {
  CelError,
  doubleToInt,
  doubleToUint,
  isError,
  type Meter,
  maxInt,
  noSuchOverload,
  TypeValue,
  Uint,
  type Value,
} from "./value.ts";

/** Compares two values; handed in, because lists and maps are themselves compared by it. */
export type Equal = (a: Value, b: Value, meter: Meter) => boolean | CelError;

/** A list. Elements may be errors when the data behind the list does not fit its schema. */
export abstract class ListValue {
  abstract readonly size: number;
  /** The element at an index from 0 to size - 1. */
  abstract get(index: number): Value;

  concat(other: ListValue, _meter: Meter): ListValue {
    if (this.size === 0) return other;
    return other.size === 0 ? this : ConcatList.of(this, other);
  }

  /** Lists made by expressions differ when an element is unequal; an element that cannot be compared does not count. */
  equals(other: Value, equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue) || other.size !== this.size) return false;
    for (let index = 0; index < this.size; index++) {
      meter.elements(1);
      if (equal(this.get(index), other.get(index), meter) === false) return false;
    }
    return true;
  }

  contains(value: Value, equal: Equal, meter: Meter): boolean | CelError {
    for (let index = 0; index < this.size; index++) {
      meter.elements(1);
      if (equal(value, this.get(index), meter) === true) return true;
    }
    return false;
  }
}

/** A list of values computed by an expression. */
export class ArrayList extends ListValue {
  protected readonly values: Value[];

  constructor(values: Value[]) {
    super();
    this.values = values;
  }

  get size(): number {
    return this.values.length;
  }

  get(index: number): Value {
    return this.values[index] ?? null;
  }
}

/** The list a comprehension collects into; it grows in place, so that collecting n elements takes n steps. */
export class GrowingList extends ArrayList {
  constructor() {
    super([]);
  }

  override concat(other: ListValue, meter: Meter): ListValue {
    meter.elements(other.size);
    for (let index = 0; index < other.size; index++) this.values.push(other.get(index));
    return this;
  }

  finished(): ListValue {
    return new ArrayList(this.values);
  }
}

/**
 * Two lists seen as one. Adding lists costs one unit whatever their size, so nothing may be copied. Sums of many lists are balanced trees, so
 * that an element is found soon.
 */
export class ConcatList extends ListValue {
  readonly size: number;
  readonly #head: ListValue;
  readonly #tail: ListValue;
  /** How many lists are looked into for an element. */
  readonly #depth: number;

  constructor(head: ListValue, tail: ListValue) {
    super();
    this.#head = head;
    this.#tail = tail;
    this.size = head.size + tail.size;
    this.#depth = 1 + Math.max(ConcatList.#depthOf(head), ConcatList.#depthOf(tail));
  }

  /** The sum of two lists. Where its parts are such sums, their depths differ by one at most. */
  static of(head: ListValue, tail: ListValue): ConcatList {
    const difference = ConcatList.#depthOf(head) - ConcatList.#depthOf(tail);
    if (difference > 1 && head instanceof ConcatList) {
      return ConcatList.#balanced(head.#head, ConcatList.of(head.#tail, tail));
    }
    if (difference < -1 && tail instanceof ConcatList) {
      return ConcatList.#balanced(ConcatList.of(head, tail.#head), tail.#tail);
    }
    return new ConcatList(head, tail);
  }

  /** The same where the depths differ by two at most: a rotation, as in an AVL tree. */
  static #balanced(head: ListValue, tail: ListValue): ConcatList {
    const [depthOf, join] = [ConcatList.#depthOf, (a: ListValue, b: ListValue) => new ConcatList(a, b)];
    if (depthOf(head) - depthOf(tail) > 1 && head instanceof ConcatList) {
      const [first, middle] = [head.#head, head.#tail];
      if (middle instanceof ConcatList && middle.#depth > depthOf(first)) {
        return join(join(first, middle.#head), join(middle.#tail, tail));
      }
      return join(first, join(middle, tail));
    }
    if (depthOf(tail) - depthOf(head) > 1 && tail instanceof ConcatList) {
      const [middle, last] = [tail.#head, tail.#tail];
      if (middle instanceof ConcatList && middle.#depth > depthOf(last)) {
        return join(join(head, middle.#head), join(middle.#tail, last));
      }
      return join(join(head, middle), last);
    }
    return join(head, tail);
  }

  static #depthOf(list: ListValue): number {
    return list instanceof ConcatList ? list.#depth : 0;
  }

  get(index: number): Value {
    let list: ListValue = this;
    let rest = index;
    while (list instanceof ConcatList) {
      const isInHead: boolean = rest < list.#head.size;
      if (!isInHead) rest -= list.#head.size;
      list = isInHead ? list.#head : list.#tail;
    }
    return list.get(rest);
  }

  override equals(other: Value, equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue) || other.size !== this.size) return false;
    let problem: CelError | undefined;
    for (let index = 0; index < this.size; index++) {
      meter.elements(1 + this.#depth / 4);
      const isEqual = equal(this.get(index), other.get(index), meter);
      if (isEqual === false) return false;
      if (isError(isEqual)) problem ??= isEqual;
    }
    return problem ?? true;
  }

  override contains(value: Value, equal: Equal, meter: Meter): boolean | CelError {
    const inHead = this.#head.contains(value, equal, meter);
    if (inHead === true) return true;
    const inTail = this.#tail.contains(value, equal, meter);
    return inTail === true || !isError(inHead) ? inTail : inHead;
  }
}

/** The elements of a list in order. */
export function* elementsOf(list: ListValue): Generator<Value> {
  for (let index = 0; index < list.size; index++) yield list.get(index);
}

/** How messages name the type of a value, and the value; handed in, because both look into lists. */
interface Shown {
  readonly typeNameOf: (value: Value) => string;
  readonly describe: (value: Value) => string;
}

/** A value used as list index, which must be a whole number of any numeric type. */
export function listIndex(index: Value, { typeNameOf, describe }: Shown): number | CelError {
  if (typeof index === "bigint") return Number(index);
  const isWide = index instanceof Uint;
  if (!isWide && typeof index !== "number") {
    return new CelError(`unsupported index type '${typeNameOf(index)}' in list`);
  }
  const whole = isWide ? index.value : doubleToInt(index);
  const isExact = !isError(whole) && (isWide ? whole < 2n ** 63n : Number(whole) === index);
  return isExact ? Number(whole) : new CelError(`unsupported index value ${describe(index)} in list`);
}

/** A map or an object. */
export abstract class MapValue {
  abstract readonly size: number;
  /** The value under a key, an error when the key has the wrong type, or undefined when the key is missing. */
  abstract find(key: Value): Value | undefined;
  abstract keys(): Iterable<Value>;

  equals(other: Value, equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof MapValue) || other.size !== this.size) return false;
    for (const key of this.keys()) {
      meter.elements(1);
      const there = other.find(key);
      if (there === undefined) return false;
      if (equal(this.find(key) ?? null, there, meter) === false) return false;
    }
    return true;
  }

  contains(key: Value): boolean | CelError {
    return this.find(key) !== undefined;
  }
}

/**
 * A map whose values take evaluations of their own. `evaluatePart` makes a value known in parts; `find` throws {@link UnknownValueError} for
 * one that is not known yet.
 */
export abstract class LazyMap extends MapValue {
  abstract readonly typeName: string;

  /** Does a part of the evaluation of the value under a key. Whether there is another part. */
  abstract evaluatePart(key: Value): boolean;

  /** The same for all values, one after the other. */
  evaluatePartOfAll(): boolean {
    for (const key of this.keys()) {
      if (this.evaluatePart(key)) return true;
    }
    return false;
  }

  /** As in Kubernetes, which does not look at the values. */
  override equals(other: Value): boolean | CelError {
    return other instanceof LazyMap ? other === this : noSuchOverload;
  }
}

/** Thrown where a value of a {@link LazyMap} is read that is not known: what reads it begins again when it is. */
export class UnknownValueError extends Error {
  readonly map: LazyMap;
  readonly key: Value;

  constructor(map: LazyMap, key: Value) {
    super(`a value of ${map.typeName} was read before it was known`);
    this.map = map;
    this.key = key;
  }
}

interface MapEntry {
  readonly key: Value;
  readonly value: Value;
}

/** A map made by an expression. */
export class EntryMap extends MapValue {
  protected readonly entries: Map<unknown, MapEntry> = new Map();

  constructor(entries: Iterable<readonly [Value, Value]> = []) {
    super();
    for (const [key, value] of entries) this.entries.set(identityOf(key), { key, value });
  }

  get size(): number {
    return this.entries.size;
  }

  find(key: Value): Value | undefined {
    return (this.entries.get(identityOf(key)) ?? this.#findNumber(key))?.value;
  }

  *keys(): Iterable<Value> {
    for (const entry of this.entries.values()) yield entry.key;
  }

  /** 1, 1u and 1.0 are the same key. */
  #findNumber(key: Value): MapEntry | undefined {
    if (typeof key === "bigint") return key < 0n ? undefined : this.#entry(new Uint(key));
    if (key instanceof Uint) return key.value > maxInt ? undefined : this.#entry(key.value);
    if (typeof key !== "number") return undefined;
    const int = doubleToInt(key);
    const found = isError(int) || Number(int) !== key ? undefined : this.#entry(int);
    if (found) return found;
    const uint = doubleToUint(key);
    return isError(uint) || Number(uint.value) !== key ? undefined : this.#entry(uint);
  }

  #entry(key: Value): MapEntry | undefined {
    return this.entries.get(identityOf(key));
  }
}

/** The map a comprehension collects into. */
export class GrowingMap extends EntryMap {
  insert(key: Value, value: Value): void {
    this.entries.set(identityOf(key), { key, value });
  }

  finished(): MapValue {
    return new EntryMap([...this.entries.values()].map((entry) => [entry.key, entry.value]));
  }
}

/** What makes two keys the same key: type and value. Lists and maps are keys only by being the same object. */
export function identityOf(key: Value): unknown {
  if (key instanceof Uint) return `\0uint ${key.value}`;
  if (key instanceof Timestamp) return `\0timestamp ${key.seconds} ${key.nanos} ${key.offset}`;
  if (key instanceof Duration) return `\0duration ${key.nanos}`;
  if (key instanceof TypeValue) return `\0type ${key.name}`;
  return key;
}
