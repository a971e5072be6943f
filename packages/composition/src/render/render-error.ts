// SPDX-License-Identifier: Apache-2.0

const brand = Symbol.for("purlin.dev/composition/RenderError");

/** The input with the error. */
type RenderInput = "xr" | "composition" | "definition" | "observed";

/** An error about an input of a render, with input and field. */
export class RenderError extends Error {
  readonly input: RenderInput;
  /** Where in the object, as a path of members; empty for the object itself. */
  readonly field: readonly string[];
  /** Which of several objects, counted from 0. */
  readonly index: number;

  constructor(
    message: string,
    input: RenderInput,
    { field = [], index = 0 }: { field?: readonly string[]; index?: number } = {},
  ) {
    super(message);
    this.name = "RenderError";
    this.input = input;
    this.field = field;
    this.index = index;
    Object.defineProperty(this, brand, { value: true });
  }
}

/** Whether the value is a RenderError, of this or another copy of the package. */
export function isRenderError(value: unknown): value is RenderError {
  return typeof value === "object" && value !== null && brand in value;
}
