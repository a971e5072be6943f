// SPDX-License-Identifier: Apache-2.0

const brand = Symbol.for("purlin.dev/package-manager/package-error");

/** Something that is no package, or not the one that was asked for. */
export class PackageError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "PackageError";
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether an error says that a package is none. */
export function isPackageError(error: unknown): error is PackageError {
  return typeof error === "object" && error !== null && brand in error;
}
