// SPDX-License-Identifier: Apache-2.0
import { MapValue } from "./map.ts";
import type { Value } from "./value.ts";

/** An object that an expression constructed, such as `Object.spec{replicas: 1}`. */
export class ConstructedValue extends MapValue {
  readonly typeName: string;
  readonly #fields: ReadonlyMap<string, Value>;

  constructor(typeName: string, fields: ReadonlyMap<string, Value>) {
    super();
    this.typeName = typeName;
    this.#fields = fields;
  }

  get size(): number {
    return this.#fields.size;
  }

  find(key: Value): Value | undefined {
    return typeof key === "string" ? this.#fields.get(key) : undefined;
  }

  keys(): Iterable<Value> {
    return this.#fields.keys();
  }
}
