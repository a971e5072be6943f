// SPDX-License-Identifier: Apache-2.0
import { compareUtf8 } from "@purlin/base";
import { goFloat, goQuote } from "@purlin/kube-objects/json";
import { dynType, listOf, stringType } from "../types/types.ts";
import { elementsOf, ListValue, MapValue } from "../values/collections.ts";
import { toText } from "../values/convert.ts";
import { typeNameOf } from "../values/describe.ts";
import { Duration, Timestamp } from "../values/time-values.ts";
import { CelError, isError, type Meter, TypeValue, Uint, type Value } from "../values/value.ts";
import { characterCost, scaleRange, sizeOf } from "./costs.ts";
import { type Clause, FormatError, fillTemplate, wrongType } from "./format-template.ts";
import { type FunctionDecl, type Implementation, memberOverload, signature } from "./function.ts";

/** A number as `digits` with `scale` of them behind the point. */
interface Decimal {
  readonly digits: bigint;
  readonly scale: number;
}

// No double has more digits behind the point than this.
const maxFractionDigits = 1074;

/** A double with `precision` digits behind the point and commas between groups of three: 1,234.50. */
function formatFixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return notFinite(value);
  const scale = Math.min(precision, maxFractionDigits);
  const { digits } = rescale(exactDecimal(value), scale);
  const all = String(digits).padStart(scale + 1, "0");
  const whole = all.slice(0, all.length - scale).replace(/\B(?=(\d{3})+$)/g, ",");
  // Kubernetes' formatter keeps the least number of digits in eight bits.
  const fraction = all
    .slice(all.length - scale)
    .replace(/0+$/, "")
    .padEnd(precision % 256, "0");
  const isNegative = value < 0;
  return `${isNegative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

const superscripts = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

/**
 * A double in scientific notation with six digits: 1.500000×10⁰³. The precision of the clause is the least width,
 * because that is what Kubernetes' CEL makes of it.
 */
function formatScientific(value: number, width: number): string {
  return (Number.isFinite(value) ? scientific(value) : notFinite(value)).padStart(width, " ");
}

function scientific(value: number): string {
  const exact = exactDecimal(value);
  const length = String(exact.digits).length;
  let exponent = value === 0 ? 0 : length - 1 - exact.scale;
  let digits = String(rescale(exact, 6 - exponent).digits);
  if (digits.length > 7) {
    exponent++;
    digits = digits.slice(0, 7);
  }
  const padded = digits.padEnd(7, "0");
  const sign = value < 0 ? "-" : "";
  return `${sign}${padded[0]}.${padded.slice(1)}\u00d710${superscript(exponent)}`;
}

function superscript(exponent: number): string {
  const digits = String(Math.abs(exponent)).padStart(2, "0");
  return (exponent < 0 ? "\u207b" : "") + [...digits].map((digit) => superscripts[Number(digit)]).join("");
}

function notFinite(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "\u221e" : "-\u221e";
}

/** The exact decimal expansion of a finite double without its sign: every double has one. */
function exactDecimal(value: number): Decimal {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, Math.abs(value));
  const raw = bits.getBigUint64(0);
  const biased = Number(raw >> 52n);
  const fraction = raw & (2n ** 52n - 1n);
  const mantissa = biased === 0 ? fraction : fraction + 2n ** 52n;
  const exponent = Math.max(biased, 1) - 1075;
  if (exponent >= 0) return { digits: mantissa << BigInt(exponent), scale: 0 };
  return { digits: mantissa * 5n ** BigInt(-exponent), scale: -exponent };
}

/** The same number with another number of digits behind the point; a tie goes to the even digit. */
function rescale({ digits, scale }: Decimal, newScale: number): Decimal {
  if (newScale >= scale) return { digits: digits * 10n ** BigInt(newScale - scale), scale: newScale };
  const unit = 10n ** BigInt(scale - newScale);
  const quotient = digits / unit;
  const twice = (digits % unit) * 2n;
  const roundsUp = twice > unit || (twice === unit && quotient % 2n === 1n);
  return { digits: roundsUp ? quotient + 1n : quotient, scale: newScale };
}

const defaultPrecision = 6;

const format: Implementation = ([template, list], meter) => {
  if (typeof template !== "string" || !(list instanceof ListValue)) return new CelError("no such overload");
  meter.characters(template.length);
  const require = (index: number): Value => {
    if (index >= list.size) throw new FormatError(`index ${index} out of range`);
    return list.get(index);
  };
  try {
    return fillTemplate(template, {
      size: list.size,
      require,
      format: (index, clause) => formatClause(require(index), clause, meter),
    });
  } catch (problem) {
    if (problem instanceof FormatError) return new CelError(problem.message);
    throw problem;
  }
};

function formatClause(value: Value, { verb, precision = defaultPrecision }: Clause, meter: Meter): string {
  const wrong = (): FormatError => wrongType(verb, typeNameOf(value));
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

function inBase(value: Value, base: number, wrong: () => FormatError): string {
  if (typeof value !== "bigint" && !(value instanceof Uint)) throw wrong();
  return integerOf(value).toString(base);
}

function formatHex(value: Value, wrong: () => FormatError): string {
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  return inBase(value, 16, wrong);
}

const doubleTexts: ReadonlyMap<Value, number> = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

function doubleOf(value: Value, wrong: () => FormatError): number {
  const double = typeof value === "number" ? value : doubleTexts.get(value);
  if (double === undefined) throw wrong();
  return double;
}

/** `%s`: what a value is as a string. */
function formatAny(value: Value, wrong: () => FormatError, meter: Meter): string {
  if (value === null) return "null";
  if (value instanceof ListValue) return formatList(value, meter);
  if (value instanceof MapValue) return formatMap(value, meter);
  const isScalar =
    typeof value !== "object" ||
    [Uint, Uint8Array, Timestamp, Duration, TypeValue].some((scalar) => value instanceof scalar);
  if (!isScalar) throw wrong();
  const text = toText(value);
  if (isError(text))
    throw new FormatError(`error during formatting: could not convert argument "${text.message}" to string`);
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
      throw new FormatError(`error during formatting: no formatting function for map key of type ${type}`);
    }
    entries.push([formatInside(key, meter), formatInside(map.find(key) ?? null, meter)]);
  }
  entries.sort(([a], [b]) => compareUtf8(a, b));
  return `{${entries.map(([key, value]) => `${key}:${value}`).join(", ")}}`;
}

/** A value inside a list or map, quoted and typed so that it could be written in an expression. */
function formatInside(value: Value, meter: Meter): string {
  const noFormat = (): FormatError =>
    new FormatError(`error during formatting: no formatting function for ${typeNameOf(value)}`);
  if (typeof value === "number") {
    const sign = Object.is(value, -0) ? "-" : "";
    const isOrdinary = Number.isFinite(value);
    return isOrdinary ? sign + formatFixed(value, defaultPrecision).replaceAll(",", "") : `"${goFloat(value)}"`;
  }
  const text = formatAny(value, noFormat, meter);
  if (typeof value === "string") return goQuote(text);
  if (value instanceof Uint8Array) return `b${goQuote(text)}`;
  if (value instanceof Timestamp) return `timestamp(${goQuote(text)})`;
  return value instanceof Duration ? `duration(${goQuote(text)})` : text;
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
