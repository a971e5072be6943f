// SPDX-License-Identifier: Apache-2.0
import { type RunFunctionRequest, type RunFunctionResponse, runUntilSettled } from "@purlin/function-protocol";
import type { FunctionHandler } from "../runtime/serve-options.ts";
import { type InvokeOptions, invoke } from "./invoke.ts";
import { createMemorySource, type MemorySourceOptions } from "./memory-source.ts";

/** What a control plane in a test knows, and the circumstances of its calls. */
export interface InvokeToStableOptions extends MemorySourceOptions, InvokeOptions {}

/** A settled response and how it came about. */
export interface StableResponse {
  readonly response: RunFunctionResponse;
  /** How often the function was called. */
  readonly calls: number;
  /** What it was called with, in order. */
  readonly requests: readonly RunFunctionRequest[];
}

/**
 * Calls a function until it asks for nothing new, answering its requirements from memory in between, by the very loop
 * the control plane uses. Throws that loop's error when the function never settles.
 */
export async function invokeToStable(
  handler: FunctionHandler,
  req: RunFunctionRequest,
  options: InvokeToStableOptions = {},
): Promise<StableResponse> {
  const { response, requests } = await runUntilSettled(req, {
    run: (request) => invoke(handler, request, options),
    source: createMemorySource(options),
    signal: options.signal,
  });
  return { response, calls: requests.length, requests };
}
