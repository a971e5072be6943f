// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type JsonValue, type RunFunctionResponse, Struct, setOwn } from "@purlin/function-protocol";
import { errorText } from "../errors/error-text.ts";
import { FunctionError, type FunctionErrorCode } from "../errors/function-error.ts";

/** Sets a key of the context later steps see. Throws INVALID_CONTEXT when JSON cannot hold the value. */
export function setContextKey(rsp: RunFunctionResponse, key: string, value: JsonValue | object): void {
  const context: JsonObject = { ...rsp.context?.value };
  setOwn(context, key, value as JsonValue);
  rsp.context = encode(context, "INVALID_CONTEXT", `context key ${JSON.stringify(key)}`);
}

/** Removes a key of the context. Returns whether it was there. */
export function deleteContextKey(rsp: RunFunctionResponse, key: string): boolean {
  const before = rsp.context?.value;
  if (before === undefined || !Object.hasOwn(before, key)) return false;
  const { [key]: _, ...rest } = before;
  rsp.context = Struct.from(rest);
  return true;
}

/** Sets the output of an Operation, a JSON object. Throws INVALID_OUTPUT on anything else. */
export function setOutput(rsp: RunFunctionResponse, output: object): void {
  if (typeof output !== "object" || output === null || Array.isArray(output)) {
    throw new FunctionError("INVALID_OUTPUT", "the output must be a JSON object");
  }
  rsp.output = encode(output, "INVALID_OUTPUT", "the output");
}

function encode(object: object, code: FunctionErrorCode, what: string): Struct {
  try {
    return Struct.from(object);
  } catch (error) {
    throw new FunctionError(code, `${what}: ${errorText(error)}`, { cause: error });
  }
}
