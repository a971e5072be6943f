// SPDX-License-Identifier: Apache-2.0

import { op } from "../syntax/ast.ts";
import { boolType, dynType, intType, listOf, mapOf, optionalOf, stringType, typeParam } from "../types/types.ts";
import { ArrayList, EntryMap, elementsOf, ListValue } from "../values/collections.ts";
import { describe } from "../values/describe.ts";
import { Duration } from "../values/time-values.ts";
import { CelError, none, noSuchOverload, OptionalValue, Uint, type Value } from "../values/value.ts";
import { type FunctionDecl, type Implementation, memberOverload, overload, signature } from "./function.ts";

const key = typeParam("K");
const value = typeParam("V");
const optional = optionalOf(value);
const list = listOf(value);
const map = mapOf(key, value);

/** Values an optional made by `ofNonZeroValue` does not hold. Data from an object is always held. */
function isZero(given: Value): boolean {
  if (given === null || given === "" || given === 0n || given === 0 || given === false) return true;
  if (given instanceof Uint) return given.value === 0n;
  if (given instanceof Duration) return given.nanos === 0n;
  if (given instanceof Uint8Array) return given.length === 0;
  return (given instanceof ArrayList || given instanceof EntryMap) && given.size === 0;
}

const on =
  (run: (given: OptionalValue) => Value): Implementation =>
  ([given]) =>
    given instanceof OptionalValue ? run(given) : noSuchOverload;

const elementAt =
  (pick: (list: ListValue) => number): Implementation =>
  ([given]) => {
    if (!(given instanceof ListValue)) return noSuchOverload;
    return given.size === 0 ? none : new OptionalValue(given.get(pick(given)));
  };

const unwrap: Implementation = ([given], meter) => {
  if (!(given instanceof ListValue)) return noSuchOverload;
  meter.elements(given.size);
  const values: Value[] = [];
  for (const element of elementsOf(given)) {
    if (!(element instanceof OptionalValue)) return new CelError(`value ${describe(element)} is not optional`);
    if (element.hasValue) values.push(element.value);
  }
  return new ArrayList(values);
};

/** Optional values. `or`, `orValue`, selections and indexes are known to the planner. */
export const optionalFunctions: readonly FunctionDecl[] = [
  {
    name: "optional.of",
    overloads: [overload(signature("optional_of", [value], optional), ([given = null]) => new OptionalValue(given))],
  },
  {
    name: "optional.ofNonZeroValue",
    overloads: [
      overload(signature("optional_ofNonZeroValue", [value], optional), ([given = null]) =>
        isZero(given) ? none : new OptionalValue(given),
      ),
    ],
  },
  { name: "optional.none", overloads: [overload(signature("optional_none", [], optional), () => none)] },
  {
    name: "value",
    overloads: [
      memberOverload(
        signature("optional_value", [optional], value),
        on((given) => given.value),
      ),
    ],
  },
  {
    name: "hasValue",
    overloads: [
      memberOverload(
        signature("optional_hasValue", [optional], boolType),
        on((given) => given.hasValue),
      ),
    ],
  },
  { name: "or", overloads: [memberOverload(signature("optional_or_optional", [optional, optional], optional))] },
  { name: "orValue", overloads: [memberOverload(signature("optional_orValue_value", [optional, value], value))] },
  {
    name: op.optionalSelect,
    overloads: [overload(signature("select_optional_field", [dynType, stringType], optional))],
  },
  {
    name: op.optionalIndex,
    overloads: [
      overload(signature("list_optindex_optional_int", [list, intType], optional)),
      overload(signature("optional_list_optindex_optional_int", [optionalOf(list), intType], optional)),
      overload(signature("map_optindex_optional_value", [map, key], optional)),
      overload(signature("optional_map_optindex_optional_value", [optionalOf(map), key], optional)),
    ],
  },
  {
    name: op.index,
    overloads: [
      overload(signature("optional_list_index_int", [optionalOf(list), intType], optional)),
      overload(signature("optional_map_index_value", [optionalOf(map), key], optional)),
    ],
  },
  {
    name: "last",
    overloads: [
      memberOverload(
        signature("list_last", [list], optional),
        elementAt((given) => given.size - 1),
      ),
    ],
  },
  {
    name: "first",
    overloads: [
      memberOverload(
        signature("list_first", [list], optional),
        elementAt(() => 0),
      ),
    ],
  },
  { name: "optional.unwrap", overloads: [overload(signature("optional_unwrap", [listOf(optional)], list), unwrap)] },
  { name: "unwrapOpt", overloads: [memberOverload(signature("optional_unwrapOpt", [listOf(optional)], list), unwrap)] },
];
