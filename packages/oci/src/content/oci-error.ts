// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";

/** Why an image could not be had or stored. */
export type OciErrorCode =
  | "UNREACHABLE"
  | "UNAUTHORIZED"
  | "NOT_FOUND"
  | "REFUSED"
  | "DIGEST_MISMATCH"
  | "NOT_AN_IMAGE"
  | "WRONG_PLATFORM"
  | "TOO_LARGE"
  | "UNSAFE_LAYER";

const brand = createErrorBrand<OciError>("purlin.dev/oci/oci-error");

/** A failure with an image or its registry. The message says what, where and, where there is one, the remedy. */
export class OciError extends Error {
  readonly code: OciErrorCode;

  constructor(code: OciErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OciError";
    this.code = code;
    brand.mark(this);
  }
}

/** Whether an error is an {@link OciError}, of a given code where one is given. */
export function isOciError(error: unknown, code?: OciErrorCode): error is OciError {
  return brand.has(error) && (code === undefined || error.code === code);
}
