// SPDX-License-Identifier: Apache-2.0

import { type Equal, elementsOf, ListValue } from "../values/collections.ts";
import { equalParts } from "../values/operations.ts";
import { type CelError, EvaluationError, isError, type Meter, noSuchOverload, type Value } from "../values/value.ts";
import { goTypeOf, isRawInteger, isRawObject, type RawObject, toRaw } from "./raw-json.ts";
import { ReadMemo, type ReadValue } from "./schema-map.ts";
import type { SchemaNode } from "./schema-node.ts";

interface ListParts {
  readonly items: SchemaNode;
  readonly read: ReadValue;
}

/** A list of the data, read through its schema. */
export class SchemaList extends ListValue {
  readonly raw: readonly unknown[];
  protected readonly parts: ListParts;
  readonly #children: ReadMemo<number> = new ReadMemo();

  constructor(raw: readonly unknown[], parts: ListParts) {
    super();
    this.raw = raw;
    this.parts = parts;
  }

  get size(): number {
    return this.raw.length;
  }

  get(index: number): Value {
    const known = this.#children.get(index);
    return known ?? this.#children.keep(index, this.parts.read(this.raw[index], this.parts.items));
  }

  /** What is added becomes data of the same schema. */
  override concat(other: ListValue, meter: Meter): ListValue {
    meter.elements(this.size + other.size);
    return new SchemaList([...this.raw, ...rawElements(other, this.parts.items)], this.parts);
  }

  override equals(other: Value, _equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue)) return isError(other) ? other : noSuchOverload;
    if (other.size !== this.size) return false;
    for (let index = 0; index < this.size; index++) {
      meter.elements(1);
      const isEqual = equalParts(this.get(index), other.get(index), meter);
      if (isEqual !== true) return isEqual;
    }
    return true;
  }

  override contains(value: Value, _equal: Equal, meter: Meter): boolean | CelError {
    let problem: CelError | undefined;
    for (const element of elementsOf(this)) {
      meter.elements(1);
      const isEqual = equalParts(element, value, meter);
      if (isEqual === true) return true;
      if (isError(isEqual)) problem ??= isEqual;
    }
    return problem ?? false;
  }
}

function rawElements(list: ListValue, items: SchemaNode): unknown[] {
  return list instanceof SchemaList ? [...list.raw] : asData([...elementsOf(list)].map(readBack), items);
}

/** Doubles are data where the schema has numbers; elsewhere they do not fit. */
function asData(elements: readonly unknown[], { schema }: SchemaNode): unknown[] {
  return elements.map((element) => (schema.type === "number" && element instanceof Double ? element.value : element));
}

/** A list of type set: order does not count, and adding leaves out what is there. */
export class SchemaSetList extends SchemaList {
  override equals(other: Value, _equal: Equal, meter: Meter): boolean | CelError {
    if (!(other instanceof ListValue)) return isError(other) ? other : noSuchOverload;
    if (other.size !== this.size) return false;
    meter.elements(2 * this.size);
    const members = new Set(this.raw.map(identityOf));
    return [...elementsOf(other)].every((element) => members.has(identityOf(readBack(element))));
  }

  override concat(other: ListValue, meter: Meter): ListValue {
    meter.elements(this.size + other.size);
    const members = new Set(this.raw.map(identityOf));
    const added = [...elementsOf(other)].map(readBack).filter((element) => {
      const isNew = !members.has(identityOf(element));
      members.add(identityOf(element));
      return isNew;
    });
    return new SchemaSetList([...this.raw, ...asData(added, this.parts.items)], this.parts);
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

/** Integers are bigints and doubles are numbers, so that they are never the same. */
type Identity = string | number | bigint | boolean | symbol | null | undefined;

const otherObject = Symbol("object");

/** What makes two scalars the same member. Kubernetes fails on values that cannot be members. */
function identityOf(raw: unknown): Identity {
  if (typeof raw === "string") return raw;
  if (raw instanceof Double) return raw.value;
  if (raw instanceof Uint8Array) throw new EvaluationError("runtime error: hash of unhashable type []uint8");
  if (Array.isArray(raw) || isRawObject(raw)) {
    throw new EvaluationError(`runtime error: hash of unhashable type ${goTypeOf(raw)}`);
  }
  if (isRawInteger(raw)) return BigInt(raw);
  if (typeof raw === "number" || typeof raw === "bigint") return Number(raw);
  return typeof raw === "boolean" || raw === null || raw === undefined ? raw : otherObject;
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
    meter.elements(2 * this.size);
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
    meter.elements(this.size + other.size);
    const merged = [...this.raw];
    const places = new Map(this.raw.map((element, index) => [this.#keyOf(element), index]));
    for (const element of rawElements(other, this.parts.items)) {
      const place = places.get(this.#keyOf(element));
      if (place === undefined) merged.push(element);
      else merged[place] = element;
    }
    return new SchemaMapList(merged, { ...this.parts, keyNames: this.#keyNames });
  }

  #keyOf(element: unknown): Identity {
    if (!isRawObject(element)) return otherObject;
    const [first = "", ...others] = this.#keyNames;
    return others.length === 0 ? keyValue(element, first) : joinIdentities(element, this.#keyNames);
  }
}

const keyValue = (element: RawObject, name: string): Identity =>
  identityOf(Object.hasOwn(element, name) ? element[name] : null);

/** Several keys as one text that no other keys have. */
function joinIdentities(element: RawObject, names: readonly string[]): string {
  return names
    .map((name) => keyValue(element, name))
    .map((value) => `${typeof value} ${String(value).length} ${String(value)}`)
    .join(" ");
}
