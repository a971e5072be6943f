// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "../errors/error-brand.ts";

/** Why a file is refused: it is not a regular file, it is too large, it changed while it was read, or it is not UTF-8. */
type UnreadableReason = "not-regular" | "too-large" | "changed" | "encoding";

const brand = createErrorBrand<UnreadableFileError>("purlin.dev/kube-objects/UnreadableFileError");

/** A file that is not read. The message says what is wrong and what to do; the caller adds the name of the file. */
export class UnreadableFileError extends Error {
  readonly reason: UnreadableReason;

  constructor(reason: UnreadableReason, message: string) {
    super(message);
    this.name = "UnreadableFileError";
    this.reason = reason;
    brand.mark(this);
  }
}

/** True for an UnreadableFileError, also one of another copy of this package. */
export function isUnreadableFile(error: unknown): error is UnreadableFileError {
  return brand.has(error);
}
