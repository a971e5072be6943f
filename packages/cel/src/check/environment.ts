// SPDX-License-Identifier: Apache-2.0
import { ipType } from "../library/ip.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  listOf,
  mapOf,
  nullType,
  opaqueType,
  stringType,
  structType,
  timestampType,
  typeOf,
  typeParam,
  typeType,
  uintType,
} from "../types/types.ts";
import { Uint, type Value } from "../values/value.ts";

/** The fields of one object type by the name under which an expression selects them. */
export type Fields = ReadonlyMap<string, CelType>;

/** What an expression can refer to beside the functions, which are the same for all. */
export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>;
  /** The fields of object types by name. */
  readonly objects: Pick<ReadonlyMap<string, Fields>, "get">;
  /** Whether expressions can construct patches: `Object{…}`, `Object.spec{…}`, `JSONPatch{…}`. */
  readonly hasPatchTypes?: boolean;
  /** Whether `cel.bind` names a value. */
  readonly hasBindings?: boolean;
}

/** The fields of an operation of a JSON patch. */
const jsonPatchFields: Fields = new Map([
  ["op", stringType],
  ["path", stringType],
  ["from", stringType],
  ["value", dynType],
]);

/** Whether a name is the name of a type of a patch: the object, or a part of it by its path. */
function isPatchType(name: string): boolean {
  return name === "JSONPatch" || name === "Object" || name.startsWith("Object.");
}

/** A type that an expression can construct; undefined when it has no such type. */
export function constructedType(env: Environment, name: string): CelType | undefined {
  return env.hasPatchTypes && isPatchType(name) ? structType(name) : undefined;
}

/** The type of a field of a type that an expression can construct. Objects can have any field. */
export function constructedField(typeName: string, field: string): CelType | undefined {
  return typeName === "JSONPatch" ? jsonPatchFields.get(field) : dynType;
}

/** Type names an expression can use as values. */
export const typeNames: ReadonlyMap<string, CelType> = new Map(
  [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    listOf(typeParam("A")),
    mapOf(typeParam("A"), typeParam("B")),
    nullType,
    stringType,
    timestampType,
    typeType,
    uintType,
    opaqueType("optional_type"),
    ipType,
    opaqueType("net.CIDR"),
  ].map((type) => [type.name, typeOf(type)] as const),
);

/**
 * Names that pass the checker as types and are then unknown to the planner. That is how Kubernetes treats the short
 * names of its schema types.
 */
export const unplannedTypeNames: ReadonlyMap<string, CelType> = new Map([
  ["duration", typeOf(durationType)],
  ["timestamp", typeOf(timestampType)],
]);

/** The type of a literal. */
export function literalType(value: Value): CelType {
  switch (typeof value) {
    case "boolean":
      return boolType;
    case "bigint":
      return intType;
    case "number":
      return doubleType;
    case "string":
      return stringType;
    default:
      if (value === null) return nullType;
      return value instanceof Uint ? uintType : bytesType;
  }
}
