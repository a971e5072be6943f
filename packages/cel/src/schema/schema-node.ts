// SPDX-License-Identifier: Apache-2.0
import type { Schema } from "@purlin/kube-objects/schema";
import { escapeName } from "./escape.ts";
import { valueSchema, withResourceFields } from "./schema.ts";

/** A schema prepared for reading data through it. Its parts are prepared when they are first needed. */
export class SchemaNode {
  readonly schema: Schema;
  /** An object with properties: names are escaped, and null counts as absent. */
  readonly isObject: boolean;
  readonly #properties: Map<string, SchemaNode | undefined> = new Map();
  #values: SchemaNode | undefined;
  #items: SchemaNode | undefined;
  #keyNames: readonly string[] | undefined;

  constructor(schema: Schema, isRoot = false) {
    const isResource = isRoot || schema["x-kubernetes-embedded-resource"] === true;
    this.schema = isResource ? withResourceFields(schema) : schema;
    this.isObject = Object.keys(this.schema.properties ?? {}).length > 0;
  }

  /** The schema of what stands under a key of an object or map. */
  property(key: string): SchemaNode | undefined {
    return this.isObject ? this.#property(key) : this.#value();
  }

  get items(): SchemaNode | undefined {
    if (!this.#items && this.schema.items) this.#items = new SchemaNode(this.schema.items);
    return this.#items;
  }

  /** The properties that make up the key of a list of type map, escaped where they can be, as Kubernetes looks them up. */
  get keyNames(): readonly string[] {
    this.#keyNames ??= (this.schema["x-kubernetes-list-map-keys"] ?? []).map((name) => escapeName(name) ?? name);
    return this.#keyNames;
  }

  #property(key: string): SchemaNode | undefined {
    if (this.#properties.has(key)) return this.#properties.get(key);
    const { properties = {} } = this.schema;
    const schema = Object.hasOwn(properties, key) ? properties[key] : undefined;
    const node = schema && new SchemaNode(schema);
    this.#properties.set(key, node);
    return node;
  }

  #value(): SchemaNode | undefined {
    const schema = valueSchema(this.schema);
    if (!this.#values && schema) this.#values = new SchemaNode(schema);
    return this.#values;
  }
}
