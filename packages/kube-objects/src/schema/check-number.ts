// SPDX-License-Identifier: Apache-2.0
// The numeric keywords, with the quirks of the reference server: integers are compared as integers, so the limits of a
// `number` are cut to integers for them; a limit that its own type cannot hold is itself reported, and then integers are
// compared, and printed, as floating-point numbers.
import { invalidPrinted } from "../errors/field-error.ts";
import { isNearlyInteger } from "./check-type.ts";
import { type Place, placeText } from "./finding.ts";
import { fieldOf, inBody, type Outcome, report, reportWithoutField } from "./outcome.ts";
import type { SchemaNode } from "./schema-node.ts";
import { isInt64, toInt64 } from "./value-kind.ts";

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

/** A floating-point number as Go's `%v` prints it: unlike an integer, 1000000 comes out as `1e+06`. */
export function goFloat(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < 6) return String(value);
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
