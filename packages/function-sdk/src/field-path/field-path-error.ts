// SPDX-License-Identifier: Apache-2.0
import { FunctionError } from "../errors/function-error.ts";

/** Why a field path could not be followed. */
type FieldPathErrorCode = "INVALID_PATH" | "NOT_FOUND" | "NOT_OBJECT" | "NOT_ARRAY" | "WRONG_TYPE" | "INDEX_TOO_LARGE";

/** A field path that cannot be read as one, or does not fit the object. */
export class FieldPathError extends FunctionError {
  /** The path as far as it could be followed. */
  readonly path: string;

  constructor(code: FieldPathErrorCode, path: string, problem: string) {
    super(code, `${path === "" ? "field path" : path}: ${problem}`);
    this.name = "FieldPathError";
    this.path = path;
  }
}
