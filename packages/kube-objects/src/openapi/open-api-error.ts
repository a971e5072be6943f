// SPDX-License-Identifier: Apache-2.0

const brand = Symbol.for("purlin.dev/kube-objects/OpenAPIError");

/** A document or a CustomResourceDefinition that cannot be used. The message names the component or field. */
export class OpenAPIError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "OpenAPIError";
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether the value is an OpenAPIError, of this or another copy of the package. */
export function isOpenAPIError(value: unknown): value is OpenAPIError {
  return typeof value === "object" && value !== null && brand in value;
}
