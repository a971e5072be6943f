// SPDX-License-Identifier: Apache-2.0
import { isRawObject, isSameJson } from "../schema/raw-json.ts";
import { type Schema, valueSchema } from "../schema/schema.ts";
import { createMapList, type MapList } from "./map-list.ts";

/** A value of an object and the value it had before, at the same place of the schema. */
export class Correlation {
  readonly #value: unknown;
  readonly #oldValue: unknown;
  readonly #schema: Schema;
  readonly #children: Map<string | number, Correlation> = new Map();
  #mapList: MapList | undefined;
  #isUnchanged: boolean | undefined;

  constructor(value: unknown, oldValue: unknown, schema: Schema) {
    this.#value = value;
    this.#oldValue = oldValue;
    this.#schema = schema;
  }

  /** Whether the value is what it was, elements of lists of type map in any order. */
  get isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare();
    return this.#isUnchanged;
  }

  /** The same for a field or map entry that is there now and was there before. */
  key(name: string): Correlation | undefined {
    const known = this.#children.get(name);
    if (known) return known;
    const { properties = {} } = this.#schema;
    const schema = Object.hasOwn(properties, name) ? properties[name] : valueSchema(this.#schema);
    if (!schema || !hasEntry(this.#value, name) || !hasEntry(this.#oldValue, name)) return undefined;
    return this.#remember(name, new Correlation(this.#value[name], this.#oldValue[name], schema));
  }

  /** The same for an element of a list of type map. Elements of other lists have no old value. */
  index(index: number): Correlation | undefined {
    const known = this.#children.get(index);
    if (known) return known;
    if (!Array.isArray(this.#value) || !Array.isArray(this.#oldValue) || !this.#schema.items) return undefined;
    if (this.#schema["x-kubernetes-list-type"] !== "map") return undefined;
    this.#mapList ??= createMapList(this.#schema, this.#oldValue);
    const element: unknown = this.#value[index];
    const old = this.#mapList(element);
    if (old === undefined || old === null) return undefined;
    return this.#remember(index, new Correlation(element, old, this.#schema.items));
  }

  #remember(key: string | number, child: Correlation): Correlation {
    this.#children.set(key, child);
    return child;
  }

  #compare(): boolean {
    const value = this.#value;
    const old = this.#oldValue;
    if (value === null || old === null || value === undefined || old === undefined) return value === old;
    if (Array.isArray(value) && Array.isArray(old)) return this.#compareLists(value, old);
    if (!isRawObject(value) || !isRawObject(old)) return isSameJson(value, old);
    const names = Object.keys(value);
    if (names.length !== Object.keys(old).length) return false;
    return names.every((name) => this.key(name)?.isUnchanged ?? false);
  }

  #compareLists(value: readonly unknown[], old: readonly unknown[]): boolean {
    if (value.length !== old.length) return false;
    if (this.#schema["x-kubernetes-list-type"] !== "map") return isSameJson(value, old);
    return value.every((_, index) => this.index(index)?.isUnchanged ?? false);
  }
}

function hasEntry(value: unknown, name: string): value is Readonly<Record<string, unknown>> {
  return isRawObject(value) && Object.hasOwn(value, name);
}
