// SPDX-License-Identifier: Apache-2.0
import { boolType, bytesType, intType, listOf, mapOf, stringType, typeParam } from "../types/types.ts";
import { noSuchOverload } from "../values/cel-error.ts";
import { ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import { conversionFunctions } from "./conversions.ts";
import { sizeOf as countOf, matchCost } from "./costs.ts";
import { type FunctionDecl, memberOverload, type Overload, overload, signature } from "./function.ts";
import { affixCost, containsTextCost } from "./operator-costs.ts";
import { operatorFunctions } from "./operators.ts";
import { compileThen, matchPattern } from "./regex.ts";
import { timeFunctions } from "./times.ts";

function sizeOf(value: Value, meter: Meter): Value | undefined {
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
export const standardFunctions: readonly FunctionDecl[] = [
  ...operatorFunctions,
  { name: "size", overloads: sizeOverloads, shared: ([value = null], meter) => sizeOf(value, meter) },
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
