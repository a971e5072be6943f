// SPDX-License-Identifier: Apache-2.0
import { type CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { equalParts } from "../values/equality.ts";
import { InternalFailure } from "../values/internal-failure.ts";
import { type Equal, elementsOf, ListValue } from "../values/list.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import { goTypeOf, isRawInteger, isRawObject } from "./raw-json.ts";
import type { ReadValue } from "./schema-map.ts";
import type { SchemaNode } from "./schema-node.ts";
import { toRaw } from "./to-raw.ts";

export interface ListParts {
  readonly items: SchemaNode;
  readonly read: ReadValue;
}

/** A list of the data, read through its schema. */
export class SchemaList extends ListValue {
  readonly raw: readonly unknown[];
  protected readonly parts: ListParts;

  constructor(raw: readonly unknown[], parts: ListParts) {
    super();
    this.raw = raw;
    this.parts = parts;
  }

  get size(): number {
    return this.raw.length;
  }

  get(index: number): Value {
    return this.parts.read(this.raw[index], this.parts.items);
  }

  /** What is added becomes data of the same schema. */
  override concat(other: ListValue, meter: Meter): ListValue {
    meter.spend(this.size + other.size);
    return new SchemaList([...this.raw, ...rawElements(other)], this.parts);
  }

  override equals(other: Value, _equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue)) return isError(other) ? other : noSuchOverload;
    if (other.size !== this.size) return false;
    for (let index = 0; index < this.size; index++) {
      meter.spend(1);
      const isEqual = equalParts(this.get(index), other.get(index), meter);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }

  override contains(value: Value, _equal: Equal, meter: Meter): boolean | CelError {
    let problem: CelError | undefined;
    for (const element of elementsOf(this)) {
      meter.spend(1);
      const isEqual = equalParts(element, value, meter);
      if (isEqual === true) return true;
      if (isError(isEqual)) problem ??= isEqual;
    }
    return problem ?? false;
  }
}

function rawElements(list: ListValue): unknown[] {
  return list instanceof SchemaList ? [...list.raw] : [...elementsOf(list)].map(toRaw);
}

/** A list of type set: order does not count, and adding leaves out what is there. */
export class SchemaSetList extends SchemaList {
  override equals(other: Value, _equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue)) return isError(other) ? other : noSuchOverload;
    if (other.size !== this.size) return false;
    meter.spend(2 * this.size);
    const members = new Set(this.raw.map(identityOf));
    return [...elementsOf(other)].every((element) => members.has(identityOf(readBack(element))));
  }

  override concat(other: ListValue, meter: Meter): ListValue {
    meter.spend(this.size + other.size);
    const members = new Set(this.raw.map(identityOf));
    const added = [...elementsOf(other)].map(readBack).filter((element) => {
      const isNew = !members.has(identityOf(element));
      members.add(identityOf(element));
      return isNew;
    });
    return new SchemaSetList([...this.raw, ...added], this.parts);
  }
}

/** What an element is as data; a whole double is not the integer it looks like. */
function readBack(element: Value): unknown {
  return typeof element === "number" ? new Double(element) : toRaw(element);
}

class Double {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** What makes two scalars the same member. Kubernetes fails on values that cannot be members. */
function identityOf(raw: unknown): string {
  if (raw instanceof Double) return `float64 ${raw.value}`;
  if (raw instanceof Uint8Array) throw new InternalFailure("runtime error: hash of unhashable type []uint8");
  if (Array.isArray(raw) || isRawObject(raw)) {
    throw new InternalFailure(`runtime error: hash of unhashable type ${goTypeOf(raw)}`);
  }
  if (isRawInteger(raw)) return `int64 ${raw}`;
  return typeof raw === "object" && raw !== null ? "object" : `${typeof raw} ${String(raw)}`;
}

interface MapListParts extends ListParts {
  readonly keyNames: readonly string[];
}

/** A list of type map: elements are found by their key, order does not count, and adding replaces by key. */
export class SchemaMapList extends SchemaList {
  readonly #keyNames: readonly string[];

  constructor(raw: readonly unknown[], parts: MapListParts) {
    super(raw, parts);
    this.#keyNames = parts.keyNames;
  }

  override equals(other: Value, _equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue)) return isError(other) ? other : noSuchOverload;
    if (other.size !== this.size) return false;
    meter.spend(2 * this.size);
    const byKey = new Map(this.raw.map((element) => [this.#keyOf(element), element]));
    for (const element of elementsOf(other)) {
      const key = this.#keyOf(toRaw(element));
      if (!byKey.has(key)) return false;
      const isEqual = equalParts(this.parts.read(byKey.get(key), this.parts.items), element, meter);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }

  override concat(other: ListValue, meter: Meter): ListValue {
    meter.spend(this.size + other.size);
    const merged = [...this.raw];
    const places = new Map(this.raw.map((element, index) => [this.#keyOf(element), index]));
    for (const element of rawElements(other)) {
      const place = places.get(this.#keyOf(element));
      if (place === undefined) merged.push(element);
      else merged[place] = element;
    }
    return new SchemaMapList(merged, { ...this.parts, keyNames: this.#keyNames });
  }

  #keyOf(element: unknown): string {
    if (!isRawObject(element)) return "not an object";
    return this.#keyNames.map((name) => identityOf(Object.hasOwn(element, name) ? element[name] : null)).join("\0");
  }
}
