// SPDX-License-Identifier: Apache-2.0
import { trimSpace } from "../library/text.ts";
import type { Schema, ValidationRule } from "../schema/schema.ts";
import { type FieldError, fieldError, formatValue, invalid, required } from "./field-error.ts";
import { FieldPathProblem, resolveFieldPath } from "./field-path.ts";
import { childPath } from "./path.ts";

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"] as const;

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** What is wrong with the texts of a rule, before anything is compiled. */
export function checkRuleTexts(rule: ValidationRule, path: string, schema: Schema): readonly FieldError[] {
  return [
    ...checkMessage(rule, path),
    ...checkMessageExpression(rule, path),
    ...checkReason(rule, path),
    ...checkFieldPath(rule, path, schema),
  ];
}

function checkMessage({ rule = "", message = "" }: ValidationRule, path: string): readonly FieldError[] {
  const trimmed = trimSpace(message);
  if (trimSpace(rule) === "") return [required(childPath(path, "rule"), "rule is not specified")];
  const messagePath = childPath(path, "message");
  if (message !== "" && trimmed === "") return [invalid(messagePath, message, "must be non-empty if specified")];
  if (hasLineBreak(trimmed)) return [invalid(messagePath, message, "must not contain line breaks")];
  if (!hasLineBreak(trimSpace(rule)) || trimmed !== "") return [];
  return [required(messagePath, "message must be specified if rule contains line breaks")];
}

function checkMessageExpression({ messageExpression = "" }: ValidationRule, path: string): readonly FieldError[] {
  if (messageExpression === "" || trimSpace(messageExpression) !== "") return [];
  return [required(childPath(path, "messageExpression"), "messageExpression must be non-empty if specified")];
}

function checkReason({ reason }: ValidationRule, path: string): readonly FieldError[] {
  if (reason === undefined || reasons.some((one) => one === reason)) return [];
  const supported = `supported values: ${reasons.map((one) => `"${one}"`).join(", ")}`;
  return [fieldError("FieldValueNotSupported", childPath(path, "reason"), formatValue(reason), supported)];
}

function checkFieldPath({ fieldPath = "" }: ValidationRule, path: string, schema: Schema): readonly FieldError[] {
  const errors: FieldError[] = [];
  const at = childPath(path, "fieldPath");
  if (fieldPath === "") return errors;
  if (trimSpace(fieldPath) === "") errors.push(invalid(at, fieldPath, "must be non-empty if specified"));
  if (hasLineBreak(fieldPath)) errors.push(invalid(at, fieldPath, "must not contain line breaks"));
  try {
    resolveFieldPath(fieldPath, schema);
  } catch (problem) {
    if (!(problem instanceof FieldPathProblem)) throw problem;
    errors.push(invalid(at, fieldPath, "must be a valid path"));
  }
  return errors;
}
