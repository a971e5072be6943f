// SPDX-License-Identifier: Apache-2.0
import type { Schema } from "@purlin/kube-objects/schema";

const keywords: ReadonlySet<string> = new Set(
  (
    "true false null in as break const continue else for function if import let loop package namespace return " +
    "var void while"
  ).split(" "),
);

const escapes: ReadonlyMap<string, string> = new Map([
  ["__", "__underscores__"],
  [".", "__dot__"],
  ["-", "__dash__"],
  ["/", "__slash__"],
]);
const unescapes: ReadonlyMap<string, string> = new Map([...escapes].map(([plain, escaped]) => [escaped, plain]));

/** The name under which a property is selected in an expression; undefined when it cannot be selected. */
export function escapeName(name: string): string | undefined {
  if (keywords.has(name)) return `__${name}__`;
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(name)) return undefined;
  return name.replace(/__|[./-]/g, (part) => escapes.get(part) ?? part);
}

/** The property behind a name in an expression; undefined when the name is not an escaped one. */
export function unescapeName(name: string): string | undefined {
  if (!name.includes("__")) return name;
  let isValid = true;
  const plain = name.replace(/__[^_]+__/g, (part) => {
    const known = unescapes.get(part);
    if (known !== undefined) return known;
    const word = part.slice(2, -2);
    // A keyword is escaped only as a whole.
    if (!keywords.has(word) || part !== name) isValid = false;
    return word;
  });
  return isValid ? plain : undefined;
}

/** The schema of the values of a map, if it has one. */
export function valueSchema({ additionalProperties }: Schema): Schema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

const text: Schema = { type: "string" };
const objectMeta: Schema = { type: "object", properties: { name: text, generateName: text } };

/** A resource root: apiVersion, kind and the two names of its metadata can always be read, and no other metadata. */
export function withResourceFields(schema: Schema): Schema {
  const { properties } = schema;
  const metadata = properties?.["metadata"];
  const isComplete =
    properties?.["kind"]?.type === "string" &&
    properties["apiVersion"]?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties?.["name"]?.type === "string" &&
    metadata.properties["generateName"]?.type === "string";
  if (isComplete) return schema;
  const { items: _items, ...rest } = schema;
  return { ...rest, properties: { ...properties, kind: text, apiVersion: text, metadata: objectMeta } };
}

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
