// SPDX-License-Identifier: Apache-2.0
// What server-side apply knows about a field: whether it is a leaf, a map whose keys have owners of their own, or a list
// whose items do. Built from an OpenAPI schema in apply-schema.ts.
import { compareUtf8, type JsonValue } from "../json/json-value.ts";
import { keyFieldPrefix } from "./item-key.ts";

/** The scalars a schema can ask for. */
export type ScalarKind = "numeric" | "string" | "boolean" | "untyped";

/** The type of a value. It may allow several forms; the value decides between them. */
export interface ApplyType {
  readonly scalar?: ScalarKind;
  readonly list?: ListType;
  readonly map?: MapType;
}

/** A list: atomic (owned as a whole), or with items known by their key fields, or a set of scalars without keys. */
export interface ListType {
  readonly atomic: boolean;
  readonly item: ApplyType;
  /** The key fields in the order of the schema, none for a set. */
  readonly keys: readonly string[];
  /** The key fields by name, with the text each contributes to an item's name. */
  readonly sortedKeys: ReadonlyArray<{ readonly name: string; readonly prefix: string }>;
}

/** A map or a struct: atomic (owned as a whole), or with entries that have owners of their own. */
export interface MapType {
  readonly atomic: boolean;
  /** The type of undeclared keys; none when undeclared keys are errors. */
  readonly element: ApplyType | undefined;
  /** Whether nothing is declared and anything goes, so that there is no schema to reconcile with. */
  readonly freeForm: boolean;
  /** The declared field of that name. */
  readonly field: (name: string) => FieldType | undefined;
}

/** A declared field. */
export interface FieldType {
  readonly type: ApplyType;
  readonly default?: JsonValue;
}

/** Makes a list type; the item type is asked for when first needed, as types may contain themselves. */
export function createListType(atomic: boolean, keys: readonly string[], item: () => ApplyType): ListType {
  const sorted = [...keys].sort(compareUtf8).map((name) => ({ name, prefix: keyFieldPrefix(name) }));
  let known: ApplyType | undefined;
  return {
    atomic,
    keys,
    sortedKeys: sorted,
    get item() {
      known ??= item();
      return known;
    },
  };
}

const noField = (): undefined => undefined;

/** Anything, owned as a whole. */
export const untypedAtomic: ApplyType = {
  scalar: "untyped",
  list: createListType(true, [], () => untypedAtomic),
  map: {
    atomic: true,
    get element(): ApplyType {
      return untypedAtomic;
    },
    freeForm: false,
    field: noField,
  },
};

/** Anything: maps are granular, lists are atomic. The type of what no schema describes. */
export const deduced: ApplyType = {
  scalar: "untyped",
  list: createListType(true, [], () => untypedAtomic),
  map: {
    atomic: false,
    get element(): ApplyType {
      return deduced;
    },
    freeForm: true,
    field: noField,
  },
};

/** The type of a key of a map, declared or not. */
export function typeOfKey(map: MapType, key: string): ApplyType | undefined {
  return map.field(key)?.type ?? map.element;
}

/** A form a value can take. */
export type Form = "map" | "scalar" | "list";

/**
 * The form in which a type treats a value. A null, or a value the type does not allow, takes the first form the type has.
 */
export function formOf(type: ApplyType, value: JsonValue): Form | undefined {
  if (value !== null) {
    if (typeof value !== "object") {
      if (type.scalar) return "scalar";
    } else if (Array.isArray(value)) {
      if (type.list) return "list";
    } else if (type.map) {
      return "map";
    }
  }
  if (type.map) return "map";
  if (type.scalar) return "scalar";
  return type.list ? "list" : undefined;
}

/** Whether two values make a type that allows several forms choose different ones. */
export function formsDiffer(type: ApplyType, a: JsonValue, b: JsonValue): boolean {
  const forms = (type.map ? 1 : 0) + (type.scalar ? 1 : 0) + (type.list ? 1 : 0);
  return forms > 1 && chosen(type, a) !== chosen(type, b);
}

function chosen(type: ApplyType, value: JsonValue): Form | "any" {
  if (value === null) return "any";
  if (typeof value !== "object") return type.scalar ? "scalar" : "any";
  if (Array.isArray(value)) return type.list ? "list" : "any";
  return type.map ? "map" : "any";
}
