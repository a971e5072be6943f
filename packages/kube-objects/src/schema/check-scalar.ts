// SPDX-License-Identifier: Apache-2.0
// Types, numeric keywords and enums. The numeric keywords have the quirks of the reference server: integers are compared as
// integers, so the limits of a `number` are cut to integers for them; a limit that its own type cannot hold is itself
// reported, and then integers are compared, and printed, as floating-point numbers.
import { invalidPrinted, unsupportedOf } from "../errors/field-error.ts";
import { goFloat, goQuote } from "../json/go-text.ts";
import type { AllowedValues } from "./allowed-values.ts";
import {
  fieldOf,
  inBody,
  isFull,
  type Outcome,
  type Place,
  placeText,
  report,
  reportType,
  reportWithoutField,
} from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";
import { isInt64, type KindedValue, toInt64, valueKey, wholeValue } from "./value-kind.ts";

/** Checks null against a schema's types. */
export function checkNull(outcome: Outcome, node: SchemaNode, place: Place | undefined): void {
  const { types, nullable } = node;
  if (types.length === 0 || types.includes("null") || nullable) outcome.matches++;
  else reportMismatch(outcome, place, { wanted: types.join(","), got: "null" });
}

/** Checks the type of a value, and that its format can be had by such a value at all. */
export function checkType(
  outcome: Outcome,
  { node, found, place }: { readonly node: SchemaNode; readonly found: KindedValue; readonly place: Place | undefined },
): void {
  const { types, format } = node;
  if (types.length === 0 && format === "") return;
  outcome.matches++;
  const mismatch = findMismatch(types, format, found);
  if (mismatch) reportMismatch(outcome, place, mismatch);
  else outcome.matches++;
}

interface Mismatch {
  readonly wanted: string;
  readonly got: string;
}

function findMismatch(types: readonly string[], format: string, found: KindedValue): Mismatch | undefined {
  const fits =
    types.includes(found.kind) ||
    (found.kind === "integer" && types.includes("number")) ||
    (found.kind === "number" && types.includes("integer") && isNearlyInteger(found.value));
  if (fits) return undefined;
  if (format === "") return { wanted: types.join(","), got: found.kind };
  // Of strings and lists the format alone decides, unless numbers are wanted; the reference server then also takes a list.
  if (found.kind === "string" || found.kind === "array") {
    const wantsNumber = types.includes("number") || types.includes("integer");
    return wantsNumber ? { wanted: types.join(","), got: found.kind } : undefined;
  }
  const got = formatOf(found);
  return got === format ? { wanted: types.join(","), got: found.kind } : { wanted: format, got };
}

function formatOf(found: KindedValue): string {
  if (found.kind === "integer") return "int64";
  return found.kind === "number" ? "float64" : "";
}

/** Whether the reference server takes a number for an integer: it allows for the rounding of floating-point numbers. */
function isNearlyInteger(value: number): boolean {
  if (!Number.isFinite(value) || Math.abs(value) > Number.MAX_SAFE_INTEGER) return false;
  const whole = Math.trunc(value);
  if (value === whole) return true;
  if (value < 0 || whole === 0) return false;
  return (value - whole) / (value + whole) < 1e-9;
}

function reportMismatch(outcome: Outcome, place: Place | undefined, { wanted, got }: Mismatch): void {
  reportType(outcome, place, { value: got, complaint: `must be of type ${wanted}: ${goQuote(got)}` });
}

/** A number to check, and what is needed to do so. */
interface NumberCheck {
  readonly outcome: Outcome;
  readonly node: SchemaNode;
  readonly place: Place | undefined;
  readonly isInteger: boolean;
  readonly value: number | bigint;
}

/** Checks a number against the range of its format and all numeric keywords. */
export function checkNumber(check: NumberCheck): void {
  const { multipleOf, minimum, exclusiveMinimum, maximum, exclusiveMaximum } = check.node.limits;
  checkRange(check, check.value, "Checked");
  if (multipleOf !== undefined) checkMultiple(check, multipleOf);
  if (minimum !== undefined) {
    const { value, limit } = operands(check, minimum, "Minimum boundary");
    const fails = exclusiveMinimum ? value <= limit : value < limit;
    if (fails)
      complain(check, value, `should be greater than ${exclusiveMinimum ? "" : "or equal to "}${textOf(limit)}`);
  }
  if (maximum !== undefined) {
    const { value, limit } = operands(check, maximum, "Maximum boundary");
    const fails = exclusiveMaximum ? value >= limit : value > limit;
    if (fails) complain(check, value, `should be less than ${exclusiveMaximum ? "" : "or equal to "}${textOf(limit)}`);
  }
  check.outcome.matches += 2;
}

/** Integers are bigint here and floating-point numbers are number, so that each prints and compares as what it is. */
type Operand = number | bigint;

function operands(
  check: NumberCheck,
  limit: number,
  what: string,
): { readonly value: Operand; readonly limit: Operand } {
  const fits = checkRange(check, limit, what);
  if (fits && check.isInteger) return { value: BigInt(check.value), limit: toInt64(limit) };
  return { value: Number(check.value), limit };
}

function checkMultiple(check: NumberCheck, factor: number): void {
  const { value, limit: divisor } = operands(check, factor, "MultipleOf");
  if (divisor <= 0) {
    const text = `factor MultipleOf declared for ${placeText(check.place)} must be positive: ${textOf(divisor)}`;
    reportNumber(check, divisor, text);
  } else if (!isMultiple(value, divisor)) {
    complain(check, value, `should be a multiple of ${textOf(divisor)}`);
  }
}

function isMultiple(value: Operand, divisor: Operand): boolean {
  if (typeof value === "bigint" && typeof divisor === "bigint") return value % divisor === 0n;
  const factor = Number(divisor);
  return isNearlyInteger(factor < 1 ? (1 / factor) * Number(value) : Number(value) / factor);
}

function checkRange({ outcome, node, place }: NumberCheck, value: Operand, what: string): boolean {
  const type = node.types.length === 1 ? node.types[0] : undefined;
  const fits =
    type === "integer" ? isIntegerOf(node.format, value) : type !== "number" || isFloatOf(node.format, value);
  if (fits) return true;
  const format = node.format === "" ? "(default format)" : `with format ${node.format}`;
  reportWithoutField(outcome, place, `${what} value must be of type ${type} ${format} in ${placeText(place)}`);
  return false;
}

function isIntegerOf(format: string, value: Operand): boolean {
  if (typeof value === "number" && !Number.isInteger(value)) return false;
  return format === "int32" ? value >= -(2 ** 31) && value < 2 ** 31 : isInt64(BigInt(value));
}

function isFloatOf(format: string, value: Operand): boolean {
  return format !== "float" || Number.isFinite(Math.fround(Number(value)));
}

const textOf = (value: Operand): string => (typeof value === "bigint" ? value.toString() : goFloat(value));

function complain(check: NumberCheck, value: Operand, complaint: string): void {
  reportNumber(check, value, inBody(check.place, complaint));
}

function reportNumber({ outcome, place }: NumberCheck, value: Operand, text: string): void {
  report(outcome, text, invalidPrinted(fieldOf(place), textOf(value), text));
}

/** Checks a value against the allowed ones. Null is never one of them, even when listed, as in the reference server. */
export function checkEnum(
  outcome: Outcome,
  { node, found, place }: { readonly node: SchemaNode; readonly found: KindedValue; readonly place: Place | undefined },
): void {
  if (node.enum.length === 0) return;
  const { allowed } = node;
  if (isAllowed(found, allowed) || isFull(outcome)) return;
  const error = unsupportedOf(fieldOf(place), wholeValue(found.value), allowed.detail);
  report(outcome, inBody(place, allowed.complaint), error);
}

// The reference server converts the value to the type of the allowed one before it compares: numbers are cut to integers,
// and an integer becomes the character with that code.
function isAllowed(found: KindedValue, { strings, integers, numbers, others }: AllowedValues): boolean {
  switch (found.kind) {
    case "string":
      return strings.has(found.value);
    case "integer":
      if (integers.has(found.value) || (numbers.size > 0 && numbers.has(Number(found.value)))) return true;
      return strings.size > 0 && strings.has(characterOf(found.value));
    case "number":
      return numbers.has(found.value) || (integers.size > 0 && integers.has(asInteger(found.value)));
    case "null":
      return false;
    default:
      return others.size > 0 && others.has(valueKey(found.value));
  }
}

/** A number cut to an integer, in the form in which integers are kept. */
function asInteger(value: number): number | bigint {
  const whole = toInt64(value);
  const small = Number(whole);
  return Number.isSafeInteger(small) ? small : whole;
}

function characterOf(code: number | bigint): string {
  const point = Number(code);
  const isCharacter = point >= 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
  return isCharacter ? String.fromCodePoint(point) : "\ufffd";
}
