// SPDX-License-Identifier: Apache-2.0
import { ipType } from "../library/ip.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listOf,
  mapOf,
  nullType,
  opaqueType,
  stringType,
  timestampType,
  typeOf,
  typeParam,
  typeType,
  uintType,
} from "../types/types.ts";

/** The fields of one object type by the name under which an expression selects them. */
export type Fields = ReadonlyMap<string, CelType>;

/** What an expression can refer to beside the functions, which are the same for all. */
export interface Environment {
  readonly variables: ReadonlyMap<string, CelType>;
  /** Object types by name. */
  readonly objects: ReadonlyMap<string, Fields>;
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
