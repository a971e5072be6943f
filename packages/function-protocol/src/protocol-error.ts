// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";

/** Why a message could not be read or written. */
type ProtocolErrorCode =
  | "MALFORMED" // bytes that are not a protobuf message of the expected type
  | "INVALID_UTF8" // a string that is not UTF-8, or a lone surrogate
  | "TOO_LARGE" // more fields or entries than the reader accepts
  | "TOO_DEEP" // nested beyond what any peer accepts
  | "INVALID_VALUE" // a value JSON cannot hold, such as NaN, a Date or a function
  | "INVALID_JSON" // protobuf-JSON with a wrong type or an unknown name
  | "UNSTABLE_REQUIREMENTS"; // a function whose requirements never settle

const brand = createErrorBrand<ProtocolError>("purlin.dev/protocol-error");

/** What else an error carries. */
interface ProtocolErrorOptions extends ErrorOptions {
  /** The member at fault, such as `observed.composite.resource.spec["a.b"][0]`. */
  readonly path?: string;
}

/** A message that breaks a rule of the function protocol. */
export class ProtocolError extends Error {
  readonly code: ProtocolErrorCode;
  /** The invalid member, if there is one: a caller that read the message from a file can find its line. */
  readonly path: string | undefined;

  constructor(code: ProtocolErrorCode, message: string, options?: ProtocolErrorOptions) {
    super(message, options);
    this.name = "ProtocolError";
    this.code = code;
    this.path = options?.path;
    brand.mark(this);
  }
}

/** Whether a value is a {@link ProtocolError}, also when two copies of this package are loaded. */
export function isProtocolError(value: unknown): value is ProtocolError {
  return brand.has(value);
}
