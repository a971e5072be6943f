// SPDX-License-Identifier: Apache-2.0

/** Identifies the errors of one class, also those of another copy of the package. */
interface ErrorBrand<T extends Error> {
  /** Marks an error, in its constructor. */
  mark(error: T): void;
  /** Whether a value is such an error. */
  has(value: unknown): value is T;
}

/** Makes a brand. The name is the same in every copy: `purlin.dev/<package>/<error>`. */
export function createErrorBrand<T extends Error>(name: string): ErrorBrand<T> {
  const brand = Symbol.for(name);
  return {
    mark(error) {
      Object.defineProperty(error, brand, { value: true });
    },
    has: (value): value is T => typeof value === "object" && value !== null && brand in value,
  };
}
