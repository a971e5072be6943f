// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";

/** A structural schema as pruning and defaulting see it. */
export interface StructuralNode {
  /** The schema of a named member, or undefined. */
  property(name: string): StructuralNode | undefined;
  /** The declared members that have a default. */
  readonly defaults: readonly (readonly [string, JsonValue])[];
  /** Whether members of any name are declared, and their schema if they have one. */
  readonly additional: { readonly node: StructuralNode | undefined } | undefined;
  readonly items: StructuralNode | undefined;
  readonly preservesUnknown: boolean;
  readonly isEmbeddedResource: boolean;
  readonly isNullable: boolean;
  readonly defaultValue: JsonValue | undefined;
}

const nodes = new WeakMap<JsonObject, StructuralNode>();

/** The node of a schema object, made once. */
export function structuralNode(schema: JsonObject): StructuralNode {
  const known = nodes.get(schema);
  if (known !== undefined) return known;
  const node = new LazyNode(schema);
  nodes.set(schema, node);
  return node;
}

function childNode(value: JsonValue | undefined): StructuralNode | undefined {
  return isJsonObject(value) ? structuralNode(value) : undefined;
}

/** Looks into the schema when asked, so that a large schema costs only what an object touches. */
class LazyNode implements StructuralNode {
  readonly #schema: JsonObject;
  readonly #properties: JsonObject;
  readonly preservesUnknown: boolean;
  readonly isEmbeddedResource: boolean;
  readonly isNullable: boolean;
  readonly defaultValue: JsonValue | undefined;
  #defaults: readonly (readonly [string, JsonValue])[] | undefined;

  constructor(schema: JsonObject) {
    this.#schema = schema;
    const properties = ownValue(schema, "properties");
    this.#properties = isJsonObject(properties) ? properties : {};
    this.preservesUnknown = schema["x-kubernetes-preserve-unknown-fields"] === true;
    this.isEmbeddedResource = schema["x-kubernetes-embedded-resource"] === true;
    this.isNullable = schema["nullable"] === true;
    this.defaultValue = ownValue(schema, "default");
  }

  property(name: string): StructuralNode | undefined {
    return childNode(ownValue(this.#properties, name));
  }

  get defaults(): readonly (readonly [string, JsonValue])[] {
    this.#defaults ??= Object.keys(this.#properties).flatMap((name) => {
      const value = this.property(name)?.defaultValue;
      return value === undefined || value === null ? [] : [[name, value] as const];
    });
    return this.#defaults;
  }

  get additional(): { readonly node: StructuralNode | undefined } | undefined {
    const value = ownValue(this.#schema, "additionalProperties");
    // `false` declares that there are no further members: one that exists is invalid, not unknown.
    if (value === undefined || value === null) return undefined;
    return { node: childNode(value) };
  }

  get items(): StructuralNode | undefined {
    return childNode(ownValue(this.#schema, "items"));
  }
}
