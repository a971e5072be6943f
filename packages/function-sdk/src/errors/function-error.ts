// SPDX-License-Identifier: Apache-2.0

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
 * Tells a {@link FunctionError} from any other value, also when two copies of this package are loaded. With a code, only
 * errors of that code.
 */
export function isFunctionError(value: unknown, code?: FunctionErrorCode): value is FunctionError {
  if (typeof value !== "object" || value === null || !(brand in value)) return false;
  return code === undefined || (value as Partial<FunctionError>).code === code;
}
