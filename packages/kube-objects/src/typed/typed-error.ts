// SPDX-License-Identifier: Apache-2.0

/** JSON that does not fit the type it was sent as. The message is the one Go's decoder gives. */
export class TypedFormError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "TypedFormError";
  }
}
