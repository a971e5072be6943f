// SPDX-License-Identifier: Apache-2.0
import type { FunctionHandler } from "@purlin/function-sdk";

const names = ["default", "fn", "handler"] as const;

/** The function that a module exports, or a message that says what is wrong with its exports. */
export function findHandler(module: object): FunctionHandler | string {
  const exports = module as Readonly<Record<string, unknown>>;
  const name = names.find((candidate) => exports[candidate] !== undefined);
  if (name === undefined) {
    const found = Object.keys(exports);
    const what = found.length === 0 ? "nothing" : found.join(", ");
    return `the file exports ${what}: export the function as default, as in "export default fn"`;
  }
  const value = exports[name];
  if (isHandler(value)) return value;
  return `the export "${name}" is not a function: expected (req, ctx) => response, or an object with runFunction`;
}

function isHandler(value: unknown): value is FunctionHandler {
  if (typeof value === "function") return true;
  return (
    typeof value === "object" &&
    value !== null &&
    typeof (value as Record<string, unknown>)["runFunction"] === "function"
  );
}
