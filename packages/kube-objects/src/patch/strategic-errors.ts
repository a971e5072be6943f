// SPDX-License-Identifier: Apache-2.0

import { findStatusError, type StatusError } from "../errors/status-error.ts";
import { badRequest, patchNotApplicable, unclassifiedError } from "../errors/status-error-constructors.ts";
import { goPlain, goTypeName } from "../json/go-value.ts";
import type { JsonObject, JsonValue } from "../json/json-value.ts";

/** A directive has the wrong form: 400. */
export function badDirective(what: "primitive list" | "retainKeys" | "setElementOrder list"): StatusError {
  return badRequest(`invalid patch format of ${what}`);
}

/** A list holds lists: 422. */
export function listOfLists(): StatusError {
  return patchNotApplicable(new Error("lists of lists are not supported"));
}

/** An item has no value under its list's merge key. */
export function noMergeKey(item: JsonObject, key: string): Error {
  return new Error(`map: ${goPlain(item)} does not contain declared merge key: ${key}`);
}

/** A value is not of the type that is needed. */
export function badType(expected: "map" | "list", actual: JsonValue): Error {
  const name = expected === "map" ? "map[string]interface {}" : "[]interface {}";
  return new Error(`expected a ${name}, but received a ${actual === null ? "%!s(<nil>)" : goTypeName(actual)}`);
}

/** An unknown `$patch` directive. */
export function unknownDirective(directive: JsonValue, item: JsonObject): Error {
  return new Error(`unknown patch type: ${textOrNot(directive)} in map: ${goPlain(item)}`);
}

// How Go prints what should have been a string.
function textOrNot(value: JsonValue): string {
  if (typeof value === "string") return value;
  return value === null ? "%!s(<nil>)" : `%!s(${goTypeName(value)}=${goPlain(value)})`;
}

/** What any failure of a strategic merge patch is answered with: its own Status, or 500 with the plain text. */
export function asPatchFailure(error: unknown): StatusError {
  const known = findStatusError(error);
  if (known) return known;
  return unclassifiedError(error instanceof Error ? error.message : String(error), error);
}
