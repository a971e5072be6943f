// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldPath, indexPath } from "../errors/field-error.ts";
import {
  copyOf,
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  type Mapped,
  mapItems,
  mapMembers,
  ownValue,
  removed,
  setOwnValue,
} from "../json/json-value.ts";

/** An object without the fields its schema does not declare, and the paths of those, sorted. */
interface Pruned {
  readonly object: JsonObject;
  readonly unknown: readonly FieldPath[];
}

const typeFields: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata"]);

/**
 * Removes what a structural schema does not declare. A whole resource, and every embedded one, keeps `apiVersion`, `kind`
 * and `metadata` whatever the schema says. The object is not changed; without unknown fields it comes back itself.
 */
export function prune(object: JsonObject, schema: JsonObject): Pruned {
  const unknown: FieldPath[] = [];
  const pruner = new Pruner(unknown);
  const pruned = pruner.members(object, structuralNode(schema), { path: "", isResource: true }) as JsonObject;
  return { object: pruned, unknown: unknown.sort() };
}

interface Place {
  readonly path: FieldPath;
  /** A whole resource, whose type and metadata stay. */
  readonly isResource: boolean;
  /** An item of an array that preserves unknown fields: its own unknown fields stay too, those further down do not. */
  readonly preserves?: boolean;
}

/** The object that a member is in. */
interface Parent {
  readonly node: StructuralNode | undefined;
  readonly place: Place;
}

class Pruner {
  readonly #unknown: FieldPath[];

  constructor(unknown: FieldPath[]) {
    this.#unknown = unknown;
  }

  members(value: JsonValue, node: StructuralNode | undefined, place: Place): JsonValue {
    if (isJsonArray(value))
      return mapItems(value, (item, index) => this.#item(item, node, indexPath(place.path, index)));
    if (!isJsonObject(value)) return value;
    const parent = { node, place };
    return mapMembers(value, (member, key) => this.#member(member, key, parent));
  }

  #item(item: JsonValue, array: StructuralNode | undefined, path: FieldPath): JsonValue {
    const preserves = array?.preservesUnknown ?? false;
    if (array?.items === undefined)
      return preserves ? item : this.members(item, undefined, { path, isResource: false });
    return this.members(item, array.items, { path, isResource: array.items.isEmbeddedResource, preserves });
  }

  #member(member: JsonValue, key: string, { node, place }: Parent): Mapped {
    if (place.isResource && typeFields.has(key)) return member;
    const path = childPath(place.path, key);
    const child = node?.property(key) ?? node?.additional?.node;
    if (child !== undefined) return this.members(member, child, { path, isResource: child.isEmbeddedResource });
    // `additionalProperties: true` declares the member but nothing inside it.
    if (node?.additional !== undefined) return this.members(member, undefined, { path, isResource: false });
    if (node?.preservesUnknown || place.preserves) return member;
    this.#unknown.push(path);
    return removed;
  }
}

/** Most values that defaults add to an object: a list of a few kilobytes could ask for gigabytes of them. */
export const mostDefaultValues = 100_000;

/**
 * Fills in the defaults of a structural schema: where a member is absent, or null and not nullable, and its parent is
 * there. The object is not changed; when nothing is missing it comes back itself. Undefined when defaults would add more
 * than {@link mostDefaultValues}.
 */
export function applyDefaults(object: JsonObject, schema: JsonObject): JsonObject | undefined {
  const defaulter = new Defaulter();
  const filled = defaulter.filled(object, structuralNode(schema)) as JsonObject;
  return defaulter.isExhausted ? undefined : filled;
}

/** Drops members that are null although their schema is not nullable and has no default to put there. */
export function dropForbiddenNulls(object: JsonObject, schema: JsonObject): JsonObject {
  return withoutNulls(object, structuralNode(schema)) as JsonObject;
}

class Defaulter {
  #left = mostDefaultValues;

  /** Whether defaults were left out. */
  get isExhausted(): boolean {
    return this.#left < 0;
  }

  filled(value: JsonValue, node: StructuralNode | undefined): JsonValue {
    if (node === undefined || this.isExhausted) return value;
    if (isJsonArray(value)) return mapItems(value, (item) => this.#filledOrDefault(item, node.items));
    if (!isJsonObject(value)) return value;
    return mapMembers(this.#withMissing(value, node), (member, key) => {
      const property = node.property(key);
      if (property !== undefined) return this.filled(member, property);
      return this.#filledOrDefault(member, node.additional?.node);
    });
  }

  #filledOrDefault(value: JsonValue, node: StructuralNode | undefined): JsonValue {
    if (!isForbiddenNull(value, node)) return this.filled(value, node);
    this.#left -= node?.defaultCount ?? 0;
    return this.filled(node?.defaultValue ?? null, node);
  }

  #withMissing(object: JsonObject, node: StructuralNode): JsonObject {
    let copy: Record<string, JsonValue> | undefined;
    for (const [name, child] of node.defaults) {
      const present = Object.hasOwn(object, name) && !isForbiddenNull(object[name], child);
      if (present) continue;
      this.#left -= child.defaultCount;
      if (this.isExhausted) return object;
      copy ??= copyOf(object);
      setOwnValue(copy, name, child.defaultValue as JsonValue);
    }
    return copy ?? object;
  }
}

function isForbiddenNull(value: JsonValue | undefined, node: StructuralNode | undefined): boolean {
  return value === null && node !== undefined && !node.isNullable;
}

function withoutNulls(value: JsonValue, node: StructuralNode | undefined): JsonValue {
  if (node === undefined) return value;
  if (isJsonArray(value)) return mapItems(value, (item) => withoutNulls(item, node.items));
  if (!isJsonObject(value)) return value;
  return mapMembers(value, (member, key): Mapped => {
    const child = node.property(key) ?? node.additional?.node;
    if (isForbiddenNull(member, child) && child?.defaultValue == null) return removed;
    return withoutNulls(member, child);
  });
}

/** A structural schema as pruning and defaulting see it. */
export interface StructuralNode {
  /** The schema of a named member, or undefined. */
  property(name: string): StructuralNode | undefined;
  /** The declared members that have a default. */
  readonly defaults: readonly (readonly [string, StructuralNode])[];
  /** Whether members of any name are declared, and their schema if they have one. */
  readonly additional: { readonly node: StructuralNode | undefined } | undefined;
  readonly items: StructuralNode | undefined;
  readonly preservesUnknown: boolean;
  readonly isEmbeddedResource: boolean;
  readonly isNullable: boolean;
  readonly defaultValue: JsonValue | undefined;
  /** How many values the default consists of. */
  readonly defaultCount: number;
}

/** Whole schemas only: a weak map with each node of them would make full garbage collections slow. */
const roots = new WeakMap<JsonObject, StructuralNode>();

/** The node of a whole schema, made once. */
export function structuralNode(schema: JsonObject): StructuralNode {
  const known = roots.get(schema);
  if (known !== undefined) return known;
  const node = new LazyNode(schema);
  roots.set(schema, node);
  return node;
}

/** Looks into the schema when asked, so that a large schema costs only what an object touches. */
class LazyNode implements StructuralNode {
  readonly #schema: JsonObject;
  readonly #properties: JsonObject;
  readonly preservesUnknown: boolean;
  readonly isEmbeddedResource: boolean;
  readonly isNullable: boolean;
  readonly defaultValue: JsonValue | undefined;
  #children: Map<JsonObject, StructuralNode> | undefined;
  #defaults: readonly (readonly [string, StructuralNode])[] | undefined;
  #defaultCount: number | undefined;

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
    return this.#child(ownValue(this.#properties, name));
  }

  get defaults(): readonly (readonly [string, StructuralNode])[] {
    this.#defaults ??= Object.keys(this.#properties).flatMap((name) => {
      const schema = ownValue(this.#properties, name);
      if (!isJsonObject(schema) || ownValue(schema, "default") == null) return [];
      const child = this.#child(schema);
      return child === undefined ? [] : [[name, child] as const];
    });
    return this.#defaults;
  }

  get defaultCount(): number {
    this.#defaultCount ??= this.defaultValue === undefined ? 0 : valuesIn(this.defaultValue);
    return this.#defaultCount;
  }

  get additional(): { readonly node: StructuralNode | undefined } | undefined {
    const value = ownValue(this.#schema, "additionalProperties");
    // `false` declares that there are no further members: one that exists is invalid, not unknown.
    if (value === undefined || value === null) return undefined;
    return { node: this.#child(value) };
  }

  get items(): StructuralNode | undefined {
    return this.#child(ownValue(this.#schema, "items"));
  }

  #child(value: JsonValue | undefined): StructuralNode | undefined {
    if (!isJsonObject(value)) return undefined;
    this.#children ??= new Map();
    const known = this.#children.get(value);
    if (known !== undefined) return known;
    const made = new LazyNode(value);
    this.#children.set(value, made);
    return made;
  }
}

function valuesIn(value: JsonValue): number {
  const inside = isJsonArray(value) ? value : isJsonObject(value) ? Object.values(value) : [];
  return inside.reduce((sum: number, one) => sum + valuesIn(one as JsonValue), 1);
}
