// SPDX-License-Identifier: Apache-2.0
import { type CelError, isError, noSuchOverload } from "../values/cel-error.ts";
import { equalParts } from "../values/equality.ts";
import type { Equal } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import { escapeName, unescapeName } from "./escape.ts";
import { isSameJson, type RawObject } from "./raw-json.ts";
import { ReadMemo } from "./read-memo.ts";
import type { SchemaNode } from "./schema-node.ts";

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

  // Fields the schema does not know are compared as they are, if both sides have them.
  #equalUnknown(name: string, other: MapValue, meter: Meter): boolean | CelError {
    if (!(other instanceof SchemaMap)) return noSuchOverload;
    if (!Object.hasOwn(other.raw, name)) return true;
    return isSameJson(this.raw[name], other.raw[name], meter);
  }
}
