// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue, RunFunctionRequest } from "@purlin/function-protocol";
import { errorText } from "../errors/error-text.ts";
import { FunctionError } from "../errors/function-error.ts";

/** Checks the input and turns it into a type of your own; whatever it throws becomes INVALID_INPUT. */
export type InputDecoder<T> = (input: JsonObject) => T;

/**
 * The input of the pipeline step, undefined when it has none. Without a decoder it is only called a T; with one, it is
 * what the decoder makes of it. The object is frozen.
 */
export function getInput<T = JsonObject>(req: RunFunctionRequest, decode?: InputDecoder<T>): T | undefined {
  if (req.input === undefined) return undefined;
  const input = req.input.value;
  if (decode === undefined) return input as T;
  try {
    return decode(input);
  } catch (error) {
    throw new FunctionError("INVALID_INPUT", `invalid input: ${errorText(error)}`, { cause: error });
  }
}

/** As {@link getInput}, but throws MISSING_INPUT when the step has none. */
export function requireInput<T = JsonObject>(req: RunFunctionRequest, decode?: InputDecoder<T>): T {
  const input = getInput(req, decode);
  if (input === undefined) {
    throw new FunctionError("MISSING_INPUT", "this function requires an input: add one to its step in the Composition");
  }
  return input;
}

/** The value of a context key, undefined when no earlier step set it. Frozen. */
export function getContextKey(req: RunFunctionRequest, key: string): JsonValue | undefined {
  const context = req.context?.value;
  return context !== undefined && Object.hasOwn(context, key) ? context[key] : undefined;
}

/** True when the context has a key, be its value null. */
export function hasContextKey(req: RunFunctionRequest, key: string): boolean {
  return req.context !== undefined && Object.hasOwn(req.context.value, key);
}
