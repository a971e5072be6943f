// SPDX-License-Identifier: Apache-2.0
import { boolType, listOf, typeParam } from "../check/types.ts";
import { type CelError, noSuchOverload } from "../values/cel-error.ts";
import { equalValues } from "../values/equality.ts";
import { elementsOf, ListValue } from "../values/list.ts";
import type { Meter } from "../values/meter.ts";
import type { Value } from "../values/value.ts";
import type { CostModel } from "./cost-model.ts";
import { sizeOf } from "./costs.ts";
import { type FunctionDecl, type Implementation, overload, signature } from "./function.ts";
import { addRanges, multiplyRanges, one, scaleRange } from "./range.ts";

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

function setFunction(name: string, test: Test, rounds = 1): FunctionDecl {
  const run: Implementation = ([a, b], meter): Value =>
    a instanceof ListValue && b instanceof ListValue ? test(a, b, meter) : noSuchOverload;
  const id = `list_sets_${name}_list`;
  const cost = compareAll(rounds);
  return { name: `sets.${name}`, overloads: [overload(signature(id, [list, list], boolType), run, { cost })] };
}

/** Lists taken as sets. */
export const setFunctions: readonly FunctionDecl[] = [
  setFunction("contains", contains),
  setFunction("equivalent", equivalent, 2),
  setFunction("intersects", intersects),
];
