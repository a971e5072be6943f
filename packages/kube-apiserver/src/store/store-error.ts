// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/base";

const brand = createErrorBrand<StoreError>("purlin.kube-apiserver.StoreError");

/**
 * Why the store refused:
 * - `exists`, `missing`, `conflict`: the key is not in the state the writer asked for
 * - `expired`: the revision is older than the history kept; `future`: it has not happened yet
 * - `unavailable`: the disk refuses writes; reads continue
 * - `closed`: the store was closed
 * - `locked`: another process has the data directory; `damaged`, `foreign`, `newer`: its content cannot be used
 * - `lost`: it ends before the last write that was acknowledged
 */
export type StoreErrorCode =
  | "exists"
  | "missing"
  | "conflict"
  | "expired"
  | "future"
  | "unavailable"
  | "closed"
  | "locked"
  | "damaged"
  | "foreign"
  | "newer"
  | "lost";

/** An error of the store itself, identified by its code. */
export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
    brand.mark(this);
  }
}

/** True for a StoreError, also one of another copy of this package; with a code, only for that one. */
export function isStoreError(error: unknown, code?: StoreErrorCode): error is StoreError {
  if (!brand.has(error)) return false;
  return code === undefined || ("code" in error && error.code === code);
}
