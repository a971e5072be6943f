// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";
import { dynType, listOf, stringType } from "../types/types.ts";
import { CelError, isError } from "../values/cel-error.ts";
import { toText } from "../values/convert.ts";
import { Duration } from "../values/duration.ts";
import { Uint } from "../values/integers.ts";
import { elementsOf, ListValue } from "../values/list.ts";
import { MapValue } from "../values/map.ts";
import type { Meter } from "../values/meter.ts";
import { compareText } from "../values/text.ts";
import { Timestamp } from "../values/timestamp.ts";
import { typeNameOf } from "../values/type-name.ts";
import { TypeValue } from "../values/type-value.ts";
import type { Value } from "../values/value.ts";
import { characterCost, sizeOf } from "./costs.ts";
import { formatFixed, formatScientific } from "./format-number.ts";
import { type Clause, FormatProblem, fillTemplate, wrongType } from "./format-template.ts";
import { type FunctionDecl, type Implementation, memberOverload, signature } from "./function.ts";
import { scaleRange } from "./range.ts";

const defaultPrecision = 6;

const format: Implementation = ([template, list], meter) => {
  if (typeof template !== "string" || !(list instanceof ListValue)) return new CelError("no such overload");
  meter.characters(template.length);
  const require = (index: number): Value => {
    if (index >= list.size) throw new FormatProblem(`index ${index} out of range`);
    return list.get(index);
  };
  try {
    return fillTemplate(template, {
      require,
      format: (index, clause) => formatClause(require(index), clause, meter),
    });
  } catch (problem) {
    if (problem instanceof FormatProblem) return new CelError(problem.message);
    throw problem;
  }
};

function formatClause(value: Value, { verb, precision = defaultPrecision }: Clause, meter: Meter): string {
  const wrong = (): FormatProblem => wrongType(verb, typeNameOf(value));
  switch (verb) {
    case "s":
      return spent(formatAny(value, wrong, meter), meter);
    case "d":
      if (typeof value !== "bigint" && !(value instanceof Uint)) throw wrong();
      return String(integerOf(value));
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      return inBase(value, 2, wrong);
    case "o":
      return inBase(value, 8, wrong);
    case "x":
    case "X": {
      const hex = formatHex(value, wrong);
      return spent(verb === "X" ? hex.toUpperCase() : hex, meter);
    }
    case "f":
      meter.spend(precision);
      return formatFixed(doubleOf(value, wrong), precision);
    case "e":
      meter.spend(precision);
      return formatScientific(doubleOf(value, wrong), precision);
  }
}

function spent(text: string, meter: Meter): string {
  meter.characters(text.length);
  return text;
}

const integerOf = (value: bigint | Uint): bigint => (typeof value === "bigint" ? value : value.value);

function inBase(value: Value, base: number, wrong: () => FormatProblem): string {
  if (typeof value !== "bigint" && !(value instanceof Uint)) throw wrong();
  return integerOf(value).toString(base);
}

function formatHex(value: Value, wrong: () => FormatProblem): string {
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return inBase(value, 16, wrong);
}

const doubleTexts: ReadonlyMap<Value, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function doubleOf(value: Value, wrong: () => FormatProblem): number {
  const double = typeof value === "number" ? value : doubleTexts.get(value);
  if (double === undefined) throw wrong();
  return double;
}

/** `%s`: what a value is as a string. */
function formatAny(value: Value, wrong: () => FormatProblem, meter: Meter): string {
  if (value === null) return "null";
  if (value instanceof ListValue) return formatList(value, meter);
  if (value instanceof MapValue) return formatMap(value, meter);
  const isScalar =
    typeof value !== "object" ||
    [Uint, Uint8Array, Timestamp, Duration, TypeValue].some((scalar) => value instanceof scalar);
  if (!isScalar) throw wrong();
  const text = toText(value);
  if (isError(text))
    throw new FormatProblem(`error during formatting: could not convert argument "${text.message}" to string`);
  return String(text);
}

function formatList(list: ListValue, meter: Meter): string {
  meter.elements(2 * list.size);
  return `[${[...elementsOf(list)].map((element) => formatInside(element, meter)).join(", ")}]`;
}

function formatMap(map: MapValue, meter: Meter): string {
  meter.elements(2 * map.size);
  const entries: (readonly [string, string])[] = [];
  for (const key of map.keys()) {
    const isKey = ["string", "boolean", "bigint"].includes(typeof key) || key instanceof Uint;
    if (!isKey) {
      const type = typeNameOf(key);
      throw new FormatProblem(`error during formatting: no formatting function for map key of type ${type}`);
    }
    entries.push([formatInside(key, meter), formatInside(map.find(key) ?? null, meter)]);
  }
  entries.sort(([a], [b]) => compareText(a, b));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(", ")}}`;
}

/** A value inside a list or map, quoted and typed so that it could be written in an expression. */
function formatInside(value: Value, meter: Meter): string {
  const noFormat = (): FormatProblem =>
    new FormatProblem(`error during formatting: no formatting function for ${typeNameOf(value)}`);
  if (typeof value === "number") {
    const sign = Object.is(value, -0) ? "-" : "";
    const isOrdinary = Number.isFinite(value);
    return isOrdinary ? sign + formatFixed(value, defaultPrecision).replaceAll(",", "") : `"${goInfinity(value)}"`;
  }
  const text = formatAny(value, noFormat, meter);
  if (typeof value === "string") return goQuote(text);
  if (value instanceof Uint8Array) return `b${goQuote(text)}`;
  if (value instanceof Timestamp) return `timestamp(${goQuote(text)})`;
  return value instanceof Duration ? `duration(${goQuote(text)})` : text;
}

function goInfinity(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

/** `template.format(list)`. */
export const formatFunction: FunctionDecl = {
  name: "format",
  overloads: [
    memberOverload(signature("string_format", [stringType, listOf(dynType)], stringType), format, {
      stopsAtError: true,
      cost: {
        actual: (args, meter) => Math.ceil(sizeOf(args[0] ?? null, meter) * characterCost),
        // What comes out can be of any size.
        estimate: (call) => call.target && { cost: scaleRange(call.sizeOf(call.target), characterCost) },
      },
    }),
  ],
};
