// SPDX-License-Identifier: Apache-2.0

import {
  duplicatePrinted,
  type FieldError,
  fieldValueText,
  forbiddenValue,
  invalidPrinted,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonValue } from "@purlin/kube-objects/json";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { trimSpace } from "../library/text.ts";
import type { Outcome } from "../program.ts";
import { isError } from "../values/cel-error.ts";
import type { Value } from "../values/value.ts";

const maxMessageBytes = 5 * 1024;
const costExceeded = "operation cancelled: actual cost limit exceeded";

/** What a rule is called in messages about it. */
export function ruleName({ rule, message = "" }: ValidationRule): string {
  return message === "" ? trimSpace(rule) : trimSpace(message);
}

/** The text for a rule that could not be evaluated, and whether it is the last one that is run. */
export function failure(problem: string, name: string): { readonly detail: string; readonly isFinal: boolean } {
  if (problem.startsWith("no such overload")) {
    const reason = "call arguments did not match a supported operator, function or macro signature for rule";
    return { detail: `'${problem}': ${reason}: ${name}`, isFinal: false };
  }
  if (problem.startsWith(costExceeded)) {
    const reason = "no further validation rules will be run due to call cost exceeds limit for rule";
    return { detail: `'${problem}': ${reason}: ${name}`, isFinal: true };
  }
  return { detail: `${problem} evaluating rule: ${name}`, isFinal: false };
}

interface FailedRule {
  readonly path: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly detail: string;
}

/** The error for a rule that is false, of the kind the rule asks for. Objects and arrays are not shown. */
export function messageOf({ reason }: ValidationRule, { path, schema, value, detail }: FailedRule): FieldError {
  const isHidden = schema.type === "object" || schema.type === "array";
  const shown = isHidden ? "" : fieldValueText(value as JsonValue);
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenValue(path, detail);
    case "FieldValueRequired":
      return requiredValue(path, detail);
    case "FieldValueDuplicate":
      return duplicatePrinted(path, shown);
    default:
      return invalidPrinted(path, shown, detail);
  }
}

interface RuleMessage {
  readonly text: string;
  readonly costLeft: number;
  /** The cost ran out; the text says so, and no more rules are run. */
  readonly isFinal: boolean;
}

/** The message of a rule that is false: what its expression gave, else its own, else the rule itself. */
export function finishMessage(rule: ValidationRule, outcome: Outcome | undefined, costLeft: number): RuleMessage {
  const fallback = rule.message ? trimSpace(rule.message) : `failed rule: ${ruleName(rule)}`;
  if (!outcome) return { text: fallback, costLeft, isFinal: false };
  const { value, cost } = outcome;
  const final = (text: string): RuleMessage => ({ text, costLeft: -1, isFinal: true });
  if (cost > costLeft) {
    return final(
      "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run",
    );
  }
  if (isError(value) && value.message.startsWith(costExceeded)) {
    const source = goQuote(rule.messageExpression ?? "");
    return final(
      `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${source}`,
    );
  }
  return { text: usableMessage(value) ?? fallback, costLeft: costLeft - cost, isFinal: false };
}

/** A message must be one line of text that is neither empty nor too long. */
function usableMessage(value: Value): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = trimSpace(value);
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > maxMessageBytes ? undefined : text;
}
