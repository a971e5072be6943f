// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/kube-objects/errors";

const brand = createErrorBrand<PackageError>("purlin.dev/oci/package-error");

/** An invalid package, or not the requested one. */
export class PackageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PackageError";
    brand.mark(this);
  }
}

/** Whether an error is a {@link PackageError}. */
export function isPackageError(error: unknown): error is PackageError {
  return brand.has(error);
}
