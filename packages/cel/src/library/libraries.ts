// SPDX-License-Identifier: Apache-2.0
import { boolType, bytesType, intType, listOf, mapOf, stringType, typeParam } from "../types/types.ts";
import { EntryMap, elementsOf, GrowingMap, ListValue, MapValue } from "../values/collections.ts";
import { describe } from "../values/describe.ts";
import { equalValues } from "../values/operations.ts";
import { CelError, isError, type Meter, noSuchOverload, type Value } from "../values/value.ts";
import { authorizerFunctions } from "./authorizer.ts";
import { cidrFunctions } from "./cidr.ts";
import { conversionFunctions } from "./conversions.ts";
import {
  addRanges,
  type CostModel,
  sizeOf as countOf,
  matchCost,
  multiplyRanges,
  one,
  scaleRange,
  sizeOf,
} from "./costs.ts";
import { extendedListFunctions } from "./extended-lists.ts";
import { formatFunctions } from "./format.ts";
import {
  type FunctionDecl,
  type Implementation,
  memberOverload,
  mergeFunctions,
  type Overload,
  overload,
  signature,
} from "./function.ts";
import { ipFunctions } from "./ip.ts";
import { kubernetesListFunctions } from "./kubernetes-lists.ts";
import { affixCost, containsTextCost, operatorFunctions } from "./operators.ts";
import { optionalFunctions } from "./optional.ts";
import { quantityFunctions } from "./quantity.ts";
import { compileThen, matchPattern, regexFunctions } from "./regex.ts";
import { semverFunctions } from "./semver.ts";
import { stringFunctions } from "./strings.ts";
import { timeFunctions } from "./times.ts";
import { urlFunctions } from "./url.ts";

function meteredSize(value: Value, meter: Meter): Value | undefined {
  const hasSize = typeof value === "string" || isCollection(value) || value instanceof Uint8Array;
  return hasSize ? BigInt(countOf(value, meter)) : undefined;
}

const isCollection = (value: Value): boolean => value instanceof ListValue || value instanceof MapValue;

const sizeOverloads: readonly Overload[] = (
  [
    ["bytes", bytesType],
    ["list", listOf(typeParam("A"))],
    ["map", mapOf(typeParam("A"), typeParam("B"))],
    ["string", stringType],
  ] as const
).flatMap(([name, type]) => [
  overload(signature(`size_${name}`, [type], intType)),
  memberOverload(signature(`${name}_size`, [type], intType)),
]);

const both = [stringType, stringType];

function textTest(name: string, id: string, test: (text: string, part: string) => boolean): FunctionDecl {
  const cost = name === "contains" ? containsTextCost : affixCost;
  const run = ([text, part]: readonly Value[]): Value =>
    typeof text === "string" && typeof part === "string" ? test(text, part) : noSuchOverload;
  return { name, isUnguarded: true, overloads: [memberOverload(signature(id, both, boolType), run, { cost })] };
}

const match = compileThen(matchPattern);

/** CEL's standard library. */
const standardFunctions: readonly FunctionDecl[] = [
  ...operatorFunctions,
  { name: "size", overloads: sizeOverloads, shared: ([value = null], meter) => meteredSize(value, meter) },
  ...conversionFunctions,
  textTest("contains", "contains_string", (text, part) => text.includes(part)),
  textTest("endsWith", "ends_with_string", (text, part) => text.endsWith(part)),
  textTest("startsWith", "starts_with_string", (text, part) => text.startsWith(part)),
  {
    name: "matches",
    overloads: [
      overload(signature("matches", both, boolType)),
      memberOverload(signature("matches_string", both, boolType), undefined, { cost: matchCost }),
    ],
    shared: (args, meter) => (typeof args[0] === "string" ? match(args, meter) : undefined),
  },
  ...timeFunctions,
];

type Test = (a: ListValue, b: ListValue, meter: Meter) => boolean | CelError;

const contains: Test = (list, part, meter) => {
  for (const element of elementsOf(part)) {
    const isIn = list.contains(element, equalValues, meter);
    if (isIn !== true) return isIn;
  }
  return true;
};

const equivalent: Test = (a, b, meter) => {
  const isIn = contains(a, b, meter);
  return isIn === true ? contains(b, a, meter) : isIn;
};

const intersects: Test = (a, b, meter) => {
  for (const element of elementsOf(a)) {
    if (b.contains(element, equalValues, meter) === true) return true;
  }
  return false;
};

/** Every element of one list is compared with every element of the other, `rounds` times. */
const compareAll = (rounds: number): CostModel => ({
  actual: ([a, b], meter) => 1 + Math.floor(sizeOf(a ?? null, meter) * sizeOf(b ?? null, meter) * rounds),
  estimate: (call) => {
    const [a, b] = call.args;
    if (!a || !b) return undefined;
    const pairs = multiplyRanges(call.sizeOf(a), call.sizeOf(b));
    return { cost: addRanges(scaleRange(pairs, rounds), one) };
  },
});

const list = listOf(typeParam("T"));

/** Lists taken as sets. */
const setFunctions: readonly FunctionDecl[] = [
  setFunction("contains", contains),
  setFunction("equivalent", equivalent, 2),
  setFunction("intersects", intersects),
];

const insertEntry: Implementation = ([map, key = null, value = null], meter) =>
  map instanceof MapValue ? insert(map, [key, value], meter) : noSuchOverload;

const insertMap: Implementation = ([map, added], meter) => {
  if (!(map instanceof MapValue) || !(added instanceof MapValue)) return noSuchOverload;
  let result = map;
  // All values are read first: where one is not known yet, nothing was inserted.
  const entries = [...added.keys()].map((key) => [key, added.find(key) ?? null] as const);
  for (const entry of entries) {
    const next = insert(result, entry, meter);
    if (isError(next)) return next;
    result = next;
  }
  return result;
};

const key = typeParam("K");

const value = typeParam("V");

const map = mapOf(key, value);

/** What `transformMap` and `transformMapEntry` expand to; no expression can call it by name. */
const mapInsertFunctions: readonly FunctionDecl[] = [
  {
    name: "cel.@mapInsert",
    overloads: [
      overload(signature("@mapInsert_map_key_value", [map, key, value], map), insertEntry, { stopsAtError: true }),
      overload(signature("@mapInsert_map_map", [map, map], map), insertMap),
    ],
  },
];

/** Every function a rule can call, in the order in which Kubernetes 1.36 declares them. */
export const functions: ReadonlyMap<string, FunctionDecl> = mergeFunctions([
  standardFunctions,
  urlFunctions,
  regexFunctions,
  kubernetesListFunctions,
  authorizerFunctions,
  optionalFunctions,
  quantityFunctions,
  stringFunctions,
  setFunctions,
  ipFunctions,
  cidrFunctions,
  formatFunctions,
  mapInsertFunctions,
  semverFunctions,
  extendedListFunctions,
]);

const escapeKey: Implementation = ([key]) =>
  typeof key === "string" ? key.replaceAll("~", "~0").replaceAll("/", "~1") : noSuchOverload;

/** Functions that only expressions which construct patches can call. */
export const patchFunctions: ReadonlyMap<string, FunctionDecl> = mergeFunctions([
  [
    {
      name: "jsonpatch.escapeKey",
      overloads: [overload(signature("string_jsonpatch_escapeKey_string", [stringType], stringType), escapeKey)],
    },
  ],
]);

function insert(map: MapValue, [key, value]: readonly [Value, Value], meter: Meter): MapValue | CelError {
  if (map.find(key) !== undefined) return new CelError(`insert failed: key ${describe(key)} already exists`);
  if (map instanceof GrowingMap) {
    map.insert(key, value);
    return map;
  }
  meter.elements(map.size);
  const entries = [...map.keys()].map((known) => [known, map.find(known) ?? null] as const);
  return new EntryMap([[key, value], ...entries]);
}

function setFunction(name: string, test: Test, rounds = 1): FunctionDecl {
  const run: Implementation = ([a, b], meter): Value =>
    a instanceof ListValue && b instanceof ListValue ? test(a, b, meter) : noSuchOverload;
  const id = `list_sets_${name}_list`;
  const cost = compareAll(rounds);
  return { name: `sets.${name}`, overloads: [overload(signature(id, [list, list], boolType), run, { cost })] };
}
