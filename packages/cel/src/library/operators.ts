// SPDX-License-Identifier: Apache-2.0
import { op } from "../syntax/ast.ts";
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  listOf,
  mapOf,
  stringType,
  timestampType,
  typeParam,
  uintType,
} from "../types/types.ts";
import { ListValue, MapValue } from "../values/collections.ts";
import {
  type Arithmetic,
  add,
  compareValues,
  divide,
  equalValues,
  isOrdered,
  modulo,
  multiply,
  negate,
  type Order,
  subtract,
} from "../values/operations.ts";
import { isError, noSuchOverload, OpaqueValue } from "../values/value.ts";
import {
  addRanges,
  type CostModel,
  characterCost,
  type EstimatedArg,
  type EstimatedCall,
  lesser,
  multiplyRanges,
  one,
  operandSize,
  type Range,
  scaleRange,
  unknownSize,
} from "./costs.ts";
import { type FunctionDecl, type Overload, overload, signature } from "./function.ts";

const knownSize = (arg: EstimatedArg): Range => arg.computedSize ?? unknownSize;

function estimateComparison({ args }: EstimatedCall): { readonly cost: Range } | undefined {
  const [left, right] = args;
  if (!left || !right) return undefined;
  const max = lesser(knownSize(left).max, knownSize(right).max);
  return { cost: scaleRange({ min: max > 0n ? 1n : 0n, max }, characterCost) };
}

/** Comparing two texts takes as long as the shorter one. */
const compareTextCost: CostModel = {
  actual: ([a = null, b = null], meter) =>
    Math.ceil(Math.min(operandSize(a, meter), operandSize(b, meter)) * characterCost),
  estimate: estimateComparison,
};

const cheapTypes: ReadonlySet<string> = new Set(["net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"]);
const longestFormatName: Range = { min: 1n, max: 64n };

/** The same for equality, which libraries make cheap for their types. */
const equalityCost: CostModel = {
  actual: (args, meter) => (args[0] instanceof OpaqueValue ? 1 : compareTextCost.actual(args, meter, null)),
  estimate: (call) => {
    const [left, right] = call.args;
    if (!left || !right) return undefined;
    const { name } = left.type;
    if (name === right.type.name) {
      if (cheapTypes.has(name)) return { cost: one };
      if (name === "kubernetes.NamedFormat") return { cost: scaleRange(longestFormatName, characterCost) };
      if (name === "kubernetes.URL") {
        const max = right.computedSize?.max ?? 1n;
        return { cost: scaleRange({ min: 1n, max }, characterCost) };
      }
    }
    return estimateComparison(call);
  },
};

/** Joining two texts copies both. */
const joinTextCost: CostModel = {
  actual: ([a = null, b = null], meter) => Math.ceil((operandSize(a, meter) + operandSize(b, meter)) * characterCost),
  estimate: ({ args }) => {
    const resultSize = addRanges(...args.map(knownSize));
    return { cost: scaleRange(resultSize, characterCost), resultSize };
  },
};

const joinListsCost: CostModel = {
  actual: () => 1,
  estimate: ({ args }) => ({ cost: one, resultSize: addRanges(...args.map(knownSize)) }),
};

const inListCost: CostModel = {
  actual: ([, list = null], meter) => operandSize(list, meter),
  estimate: ({ args: [, list] }) => list && { cost: scaleRange(knownSize(list), 1) },
};

/** The text is looked at once; the estimate goes by what is looked for. */
export const affixCost: CostModel = {
  actual: ([text = null], meter) => Math.ceil(operandSize(text, meter) * characterCost),
  estimate: ({ args: [affix] }) => affix && { cost: scaleRange(knownSize(affix), characterCost) },
};

export const containsTextCost: CostModel = {
  actual: ([text = null, part = null], meter) =>
    Math.ceil(operandSize(text, meter) * characterCost) * Math.ceil(operandSize(part, meter) * characterCost),
  estimate: ({ target, args: [part] }) => {
    if (!target || !part) return undefined;
    const text = scaleRange(knownSize(target), characterCost);
    const sought = scaleRange(knownSize(part), characterCost);
    return { cost: multiplyRanges(text, sought) };
  },
};

const any = typeParam("A");
const list = listOf(any);
const map = mapOf(any, typeParam("B"));

type Row = readonly [id: string, left: CelType, right: CelType, result: CelType];

const same = (id: string, type: CelType): Row => [id, type, type, type];

const addRows: readonly Row[] = [
  same("add_bytes", bytesType),
  same("add_double", doubleType),
  same("add_duration_duration", durationType),
  ["add_duration_timestamp", durationType, timestampType, timestampType],
  ["add_timestamp_duration", timestampType, durationType, timestampType],
  same("add_int64", intType),
  same("add_list", list),
  same("add_string", stringType),
  same("add_uint64", uintType),
];

const subtractRows: readonly Row[] = [
  same("subtract_double", doubleType),
  same("subtract_duration_duration", durationType),
  same("subtract_int64", intType),
  ["subtract_timestamp_duration", timestampType, durationType, timestampType],
  ["subtract_timestamp_timestamp", timestampType, timestampType, durationType],
  same("subtract_uint64", uintType),
];

const numberRows = (name: string): readonly Row[] => [
  same(`${name}_double`, doubleType),
  same(`${name}_int64`, intType),
  same(`${name}_uint64`, uintType),
];

const costs: ReadonlyMap<string, CostModel> = new Map([
  ["add_string", joinTextCost],
  ["add_bytes", joinTextCost],
  ["add_list", joinListsCost],
]);

function binary([id, left, right, result]: Row, cost: CostModel | undefined = costs.get(id)): Overload {
  return overload(signature(id, [left, right], result), undefined, cost ? { cost } : {});
}

const arithmetic = (name: string, rows: readonly Row[], operate: Arithmetic): FunctionDecl => ({
  name,
  overloads: rows.map((row) => binary(row)),
  shared: ([a = null, b = null], meter) => operate(a, b, meter),
});

/** What can be ordered; numbers of different types can. */
const orderedPairs: readonly (readonly [suffix: string, left: CelType, right: CelType])[] = [
  ["bool", boolType, boolType],
  ["int64", intType, intType],
  ["int64_double", intType, doubleType],
  ["int64_uint64", intType, uintType],
  ["uint64", uintType, uintType],
  ["uint64_double", uintType, doubleType],
  ["uint64_int64", uintType, intType],
  ["double", doubleType, doubleType],
  ["double_int64", doubleType, intType],
  ["double_uint64", doubleType, uintType],
  ["string", stringType, stringType],
  ["bytes", bytesType, bytesType],
  ["timestamp", timestampType, timestampType],
  ["duration", durationType, durationType],
];

const comparison = (name: string, prefix: string, holds: (order: Order) => boolean): FunctionDecl => ({
  name,
  overloads: orderedPairs.map(([suffix, left, right]) => {
    const isText = suffix === "string" || suffix === "bytes";
    return binary([`${prefix}_${suffix}`, left, right, boolType], isText ? compareTextCost : undefined);
  }),
  shared: ([a = null, b = null]) => {
    if (!isOrdered(a)) return undefined;
    const order = compareValues(a, b);
    return isError(order) ? order : holds(order);
  },
});

/** Declarations of all operators; those without implementation are known to the planner. */
export const operatorFunctions: readonly FunctionDecl[] = [
  { name: op.conditional, overloads: [overload(signature("conditional", [boolType, any, any], any))] },
  { name: op.and, overloads: [overload(signature("logical_and", [boolType, boolType], boolType))] },
  { name: op.or, overloads: [overload(signature("logical_or", [boolType, boolType], boolType))] },
  {
    name: op.not,
    overloads: [overload(signature("logical_not", [boolType], boolType))],
    shared: ([value]) => (typeof value === "boolean" ? !value : noSuchOverload),
  },
  {
    name: op.notStrictlyFalse,
    overloads: [overload(signature("not_strictly_false", [boolType], boolType))],
  },
  { name: op.equals, overloads: [binary(["equals", any, any, boolType], equalityCost)] },
  { name: op.notEquals, overloads: [binary(["not_equals", any, any, boolType], compareTextCost)] },
  arithmetic(op.add, addRows, add),
  arithmetic(op.divide, numberRows("divide"), divide),
  arithmetic(op.modulo, [same("modulo_int64", intType), same("modulo_uint64", uintType)], modulo),
  arithmetic(op.multiply, numberRows("multiply"), multiply),
  arithmetic(op.subtract, subtractRows, subtract),
  {
    name: op.negate,
    overloads: [
      overload(signature("negate_double", [doubleType], doubleType)),
      overload(signature("negate_int64", [intType], intType)),
    ],
    shared: ([value = null]) => negate(value),
  },
  comparison(op.less, "less", (order) => order < 0),
  comparison(op.lessEquals, "less_equals", (order) => order <= 0),
  comparison(op.greater, "greater", (order) => order > 0),
  comparison(op.greaterEquals, "greater_equals", (order) => order >= 0),
  {
    name: op.index,
    overloads: [
      overload(signature("index_list", [list, intType], any)),
      overload(signature("index_map", [map, any], typeParam("B"))),
    ],
  },
  {
    name: op.in,
    overloads: [
      overload(signature("in_list", [any, list], boolType), undefined, { cost: inListCost }),
      overload(signature("in_map", [any, map], boolType)),
    ],
    shared: ([value = null, container], meter) => {
      if (container instanceof ListValue) return container.contains(value, equalValues, meter);
      return container instanceof MapValue ? container.contains(value) : noSuchOverload;
    },
  },
];
