// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  fieldErrorsText,
  indexPath,
  invalidPrinted,
  invalidValue,
  keyPath,
  unsupportedValue,
} from "../errors/field-error.ts";
import { badRequest } from "../errors/status-error-constructors.ts";
import { goJson } from "../json/go-text.ts";
import { compareUtf8 } from "../json/json-value.ts";
import { labelKeyProblems, labelValueProblems } from "../metadata/names.ts";

/** How a requirement relates a label to its values. */
export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "exists" | "!" | "gt" | "lt";

/** One condition on one label. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

const operators: readonly LabelOperator[] = ["in", "notin", "=", "==", "!=", "gt", "lt", "exists", "!"];

/** The operators that stand between a label and values, in the order messages list them. */
export const binaryOperators: readonly LabelOperator[] = operators.slice(0, 7);

/** A requirement that makes sense; anything else throws BadRequest saying all that is wrong. */
export function createRequirement(key: string, operator: LabelOperator, values: readonly string[]): LabelRequirement {
  const errors = [
    ...keyErrors(key, "key"),
    ...operandErrors(operator, values),
    ...values.flatMap((value, index) => valueErrors(key, value, index)),
  ];
  if (errors.length > 0) throw badRequest(fieldErrorsText(errors));
  return { key, operator, values };
}

/** What is wrong with a label key, as one finding. */
export function keyErrors(key: string, path: string | undefined): FieldError[] {
  const problems = labelKeyProblems(key);
  return problems.length === 0 ? [] : [invalidValue(path, key, problems.join("; "))];
}

function valueErrors(key: string, value: string, index: number): FieldError[] {
  const problems = labelValueProblems(value);
  if (problems.length === 0) return [];
  return [invalidValue(keyPath(indexPath("values", index), key), value, problems.join("; "))];
}

function operandErrors(operator: LabelOperator, values: readonly string[]): FieldError[] {
  // No values at all print as null: only selector objects can lack them.
  const printed = (): string => (values.length === 0 ? "null" : goJson(values));
  const wrong = (detail: string): FieldError[] => [invalidPrinted("values", printed(), detail)];
  switch (operator) {
    case "in":
    case "notin":
      return values.length > 0 ? [] : wrong("for 'in', 'notin' operators, values set can't be empty");
    case "=":
    case "==":
    case "!=":
      return values.length === 1 ? [] : wrong("exact-match compatibility requires one single value");
    case "exists":
    case "!":
      return values.length === 0 ? [] : wrong("values set must be empty for exists and does not exist");
    case "gt":
    case "lt": {
      const count = values.length === 1 ? [] : wrong("for 'Gt', 'Lt' operators, exactly one value is required");
      return [...count, ...values.flatMap(integerErrors)];
    }
    default:
      return [unsupportedValue(childPath(undefined, "operator"), operator satisfies never, operators)];
  }
}

function integerErrors(value: string, index: number): FieldError[] {
  if (parseInt64(value) !== undefined) return [];
  const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
  return [invalidValue(indexPath("values", index), value, detail)];
}

function parseInt64(text: string): bigint | undefined {
  // A label has at most 63 characters.
  if (!/^[+-]?\d{1,63}$/.test(text)) return undefined;
  const value = BigInt(text.startsWith("+") ? text.slice(1) : text);
  return value >= -(2n ** 63n) && value < 2n ** 63n ? value : undefined;
}

/** Whether a label with this value (undefined: no such label) meets the requirement. */
export function meetsRequirement({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case "in":
    case "=":
    case "==":
      return value !== undefined && values.includes(value);
    case "notin":
    case "!=":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
      return compareIntegers(value, values[0], (a, b) => a > b);
    case "lt":
      return compareIntegers(value, values[0], (a, b) => a < b);
    default:
      return operator satisfies never;
  }
}

function compareIntegers(
  value: string | undefined,
  limit: string | undefined,
  holds: (a: bigint, b: bigint) => boolean,
): boolean {
  const a = parseInt64(value ?? "");
  const b = parseInt64(limit ?? "");
  return a !== undefined && b !== undefined && holds(a, b);
}

const symbols: Readonly<Record<LabelOperator, string>> = {
  "=": "=",
  "==": "==",
  "!=": "!=",
  in: " in ",
  notin: " notin ",
  gt: ">",
  lt: "<",
  exists: "",
  "!": "",
};

/** The requirement as text that parses to the same requirement; several values come sorted. */
export function formatRequirement({ key, operator, values }: LabelRequirement): string {
  if (operator === "exists") return key;
  if (operator === "!") return `!${key}`;
  const list = [...values].sort(compareUtf8).join(",");
  const operand = operator === "in" || operator === "notin" ? `(${list})` : list;
  return `${key}${symbols[operator]}${operand}`;
}
