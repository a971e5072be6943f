// SPDX-License-Identifier: Apache-2.0
import { createErrorBrand } from "@purlin/kube-objects/errors";

const brand = createErrorBrand<PackageError>("purlin.dev/oci/package-error");

/** Something that is no package, or not the one that was asked for. */
export class PackageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PackageError";
    brand.mark(this);
  }
}

/** Whether an error says that a package is none. */
export function isPackageError(error: unknown): error is PackageError {
  return brand.has(error);
}
