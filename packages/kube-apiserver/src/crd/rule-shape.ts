// SPDX-License-Identifier: Apache-2.0
import {
  childPath,
  type FieldError,
  type FieldPath,
  indexPath,
  invalidValue,
  type JsonObject,
  ownValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects";
import type { SchemaProps } from "./schema-props.ts";
import { followPath } from "./simple-path.ts";

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/** What is wrong with the validation rules of a node before anybody compiles them. */
export function* ruleProblems(schema: SchemaProps, path: FieldPath): Generator<FieldError> {
  for (const [index, rule] of schema.rules.entries()) {
    const at = indexPath(childPath(path, "x-kubernetes-validations"), index);
    yield* messageProblems(rule, at);
    yield* targetProblems(rule, at, schema);
  }
}

function text(rule: JsonObject, name: string): string {
  const value = ownValue(rule, name);
  return typeof value === "string" ? value : "";
}

const hasNewline = (value: string): boolean => /[\n\r]/.test(value);

function* messageProblems(rule: JsonObject, at: FieldPath): Generator<FieldError> {
  const source = text(rule, "rule").trim();
  const message = text(rule, "message");
  const messagePath = childPath(at, "message");
  if (source === "") yield requiredValue(childPath(at, "rule"), "rule is not specified");
  else if (message !== "" && message.trim() === "")
    yield invalidValue(messagePath, message, "must be non-empty if specified");
  else if (hasNewline(message.trim())) yield invalidValue(messagePath, message, "must not contain line breaks");
  else if (hasNewline(source) && message.trim() === "") {
    yield requiredValue(messagePath, "message must be specified if rule contains line breaks");
  }
  const expression = text(rule, "messageExpression");
  if (expression !== "" && expression.trim() === "") {
    yield requiredValue(childPath(at, "messageExpression"), "messageExpression must be non-empty if specified");
  }
}

function* targetProblems(rule: JsonObject, at: FieldPath, schema: SchemaProps): Generator<FieldError> {
  const reason = ownValue(rule, "reason");
  if (typeof reason === "string" && !reasons.includes(reason)) {
    yield unsupportedValue(childPath(at, "reason"), reason, reasons);
  }
  const fieldPath = text(rule, "fieldPath");
  if (fieldPath === "") return;
  const where = childPath(at, "fieldPath");
  if (fieldPath.trim() === "") yield invalidValue(where, fieldPath, "must be non-empty if specified");
  if (hasNewline(fieldPath)) yield invalidValue(where, fieldPath, "must not contain line breaks");
  if (typeof followPath(fieldPath, schema, { arrays: false }) === "string") {
    yield invalidValue(where, fieldPath, "must be a valid path");
  }
}
