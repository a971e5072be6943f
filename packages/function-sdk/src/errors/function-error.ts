// SPDX-License-Identifier: Apache-2.0
import { printJson } from "@purlin/kube-objects/json";
/** What went wrong, as a name that stays the same from release to release. */
export type FunctionErrorCode =
  // Reading a request.
  | "MISSING_INPUT"
  | "INVALID_INPUT"
  | "CREDENTIALS_NOT_FOUND"
  | "UNSUPPORTED_CREDENTIALS"
  | "INVALID_CREDENTIALS" // credentials that were asked for as text but are not
  // Writing a response.
  | "INVALID_RESOURCE" // an object that JSON cannot hold
  | "INVALID_CONTEXT"
  | "INVALID_OUTPUT"
  | "INVALID_SELECTOR"
  | "INVALID_TTL"
  | "DUPLICATE_CONDITION"
  | "MISSING_REASON"
  | "RESERVED_CONDITION"
  | "NO_RESPONSE" // a handler that returned nothing, or nothing that is a response
  // Field paths and schemas.
  | "INVALID_PATH"
  | "NOT_FOUND"
  | "NOT_OBJECT"
  | "NOT_ARRAY"
  | "WRONG_TYPE"
  | "INDEX_TOO_LARGE"
  | "INVALID_OBJECT" // an object that its schema refuses
  // Serving.
  | "USAGE"
  | "INVALID_OPTION"
  | "NO_CREDENTIALS"
  | "INVALID_CERTIFICATES"
  | "LISTEN_FAILED";

const brand = Symbol.for("purlin.dev/function-error");

/** Every error this SDK throws on purpose. */
export class FunctionError extends Error {
  readonly code: FunctionErrorCode;

  constructor(code: FunctionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "FunctionError";
    this.code = code;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * Whether a value is a {@link FunctionError}, also when two copies of this package are loaded. With a code, only
 * errors of that code.
 */
export function isFunctionError(value: unknown, code?: FunctionErrorCode): value is FunctionError {
  if (typeof value !== "object" || value === null || !(brand in value)) return false;
  return code === undefined || (value as Partial<FunctionError>).code === code;
}

const longestChain = 16;

/**
 * One line for people: the message of an error followed by those of its causes, joined by `: `. A cause whose text the
 * message already ends with is not repeated, so errors wrapped as `outer: inner` read well too.
 */
export function errorText(error: unknown): string {
  // Half a surrogate pair cannot be sent, and formatting an error must not fail.
  return textOf(error, longestChain).toWellFormed();
}

/** A thrown value may refuse to be printed; the report of the failure must not fail as well. */
function textOf(error: unknown, remaining: number): string {
  try {
    return error instanceof Error ? textOfError(error, remaining) : textOfOther(error);
  } catch {
    return "an error that cannot be printed";
  }
}

function textOfError(error: Error, remaining: number): string {
  const own = ownText(error, remaining);
  if (error.cause === undefined || error.cause === null || remaining === 0) return own;
  const cause = textOf(error.cause, remaining - 1);
  if (cause === "" || own.endsWith(cause)) return own;
  return own === "" ? cause : `${own}: ${cause}`;
}

function ownText(error: Error, remaining: number): string {
  const message: unknown = error.message;
  if (message !== "" && message !== undefined) return String(message);
  if (error instanceof AggregateError && remaining > 0) {
    return error.errors.map((inner: unknown) => textOf(inner, remaining - 1)).join("; ");
  }
  return error.cause === undefined ? error.name : "";
}

function textOfOther(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "object" && value !== null && "message" in value && typeof value.message === "string") {
    return value.message;
  }
  return typeof value === "object" && value !== null ? (printJson(value) ?? String(value)) : String(value);
}
