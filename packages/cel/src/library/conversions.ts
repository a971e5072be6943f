// SPDX-License-Identifier: Apache-2.0
import {
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  dynType,
  intType,
  stringType,
  timestampType,
  typeOf,
  typeParam,
  uintType,
} from "../types/types.ts";
import {
  toBool,
  toBytes,
  toDouble,
  toDuration,
  toInt,
  toText,
  toTimestamp,
  toType,
  toUint,
} from "../values/convert.ts";
import type { Value } from "../values/value.ts";
import { type CostModel, characterCost, scaleRange, sizeOf } from "./costs.ts";
import { type FunctionDecl, type Implementation, type Overload, overload, signature } from "./function.ts";

// UTF-8 takes one to four bytes for a character.
const textToBytesCost: CostModel = {
  actual: ([text], meter) => Math.ceil(sizeOf(text ?? null, meter) * characterCost),
  estimate: (call) => {
    const [text] = call.args;
    if (!text) return undefined;
    const size = call.sizeOf(text);
    const resultSize = { min: size.min, max: BigInt.asUintN(64, size.max * 4n) };
    return { cost: scaleRange(size, characterCost), resultSize };
  },
};

const bytesToTextCost: CostModel = {
  actual: ([bytes], meter) => Math.ceil(sizeOf(bytes ?? null, meter) * characterCost),
  estimate: (call) => {
    const [bytes] = call.args;
    if (!bytes) return undefined;
    const size = call.sizeOf(bytes);
    return { cost: scaleRange(size, characterCost), resultSize: { min: size.min / 4n, max: size.max } };
  },
};

const costs: ReadonlyMap<string, CostModel> = new Map([
  ["string_to_bytes", textToBytesCost],
  ["bytes_to_string", bytesToTextCost],
]);

interface Conversion {
  readonly name: string;
  readonly result: CelType;
  readonly convert: (value: Value) => Value;
  /** Overload ids with the type each takes. */
  readonly from: readonly (readonly [string, CelType])[];
  /** How much work reading one character of a text is. */
  readonly readingWork?: number;
}

function conversion({ name, result, convert, from, readingWork = 0.5 }: Conversion): FunctionDecl {
  const run: Implementation = ([value = null], meter) => {
    if (typeof value === "string") meter.spend(value.length * readingWork);
    return convert(value);
  };
  const overloads = from.map(([id, type]): Overload => {
    const cost = costs.get(id);
    return overload(signature(id, [type], result), run, cost ? { cost } : {});
  });
  return { name, overloads };
}

const any = typeParam("A");

/** `int(x)`, `string(x)` and the like. */
export const conversionFunctions: readonly FunctionDecl[] = [
  {
    name: "type",
    overloads: [overload(signature("type", [any], typeOf(any)))],
    shared: ([value = null]) => toType(value),
  },
  conversion({
    name: "bool",
    result: boolType,
    convert: toBool,
    from: [
      ["bool_to_bool", boolType],
      ["string_to_bool", stringType],
    ],
  }),
  conversion({
    name: "bytes",
    result: bytesType,
    convert: toBytes,
    from: [
      ["bytes_to_bytes", bytesType],
      ["string_to_bytes", stringType],
    ],
  }),
  conversion({
    name: "double",
    result: doubleType,
    convert: toDouble,
    from: [
      ["double_to_double", doubleType],
      ["int64_to_double", intType],
      ["string_to_double", stringType],
      ["uint64_to_double", uintType],
    ],
  }),
  conversion({
    name: "duration",
    result: durationType,
    convert: toDuration,
    readingWork: 16,
    from: [
      ["duration_to_duration", durationType],
      ["int64_to_duration", intType],
      ["string_to_duration", stringType],
    ],
  }),
  {
    name: "dyn",
    overloads: [overload(signature("to_dyn", [any], dynType))],
    shared: ([value = null]) => value,
  },
  conversion({
    name: "int",
    result: intType,
    convert: toInt,
    from: [
      ["int64_to_int64", intType],
      ["double_to_int64", doubleType],
      ["duration_to_int64", durationType],
      ["string_to_int64", stringType],
      ["timestamp_to_int64", timestampType],
      ["uint64_to_int64", uintType],
    ],
  }),
  conversion({
    name: "string",
    result: stringType,
    convert: toText,
    from: [
      ["string_to_string", stringType],
      ["bool_to_string", boolType],
      ["bytes_to_string", bytesType],
      ["double_to_string", doubleType],
      ["duration_to_string", durationType],
      ["int64_to_string", intType],
      ["timestamp_to_string", timestampType],
      ["uint64_to_string", uintType],
    ],
  }),
  conversion({
    name: "timestamp",
    result: timestampType,
    convert: toTimestamp,
    from: [
      ["timestamp_to_timestamp", timestampType],
      ["int64_to_timestamp", intType],
      ["string_to_timestamp", stringType],
    ],
  }),
  conversion({
    name: "uint",
    result: uintType,
    convert: toUint,
    from: [
      ["uint64_to_uint64", uintType],
      ["double_to_uint64", doubleType],
      ["int64_to_uint64", intType],
      ["string_to_uint64", stringType],
    ],
  }),
];

/** Conversions of a literal are done when the expression is planned. */
export const conversionNames: ReadonlySet<string> = new Set(conversionFunctions.map(({ name }) => name));
