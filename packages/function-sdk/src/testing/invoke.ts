// SPDX-License-Identifier: Apache-2.0
import {
  decode,
  encode,
  type ProtocolVersion,
  RunFunctionRequest,
  RunFunctionResponse,
  runUntilSettled,
} from "@purlin/function-protocol";
import { type Logger, nopLogger } from "../logging/new-logger.ts";
import { DEFAULT_TTL, type Ttl, toDuration } from "../response/to.ts";
import { CallFailure, type CallOrigin, createFunctionCall } from "../runtime/function-call.ts";
import { type FunctionHandler, toRunFunction } from "../runtime/serve-options.ts";
import { createMemorySource, type MemorySourceOptions } from "./memory-source.ts";

/** The circumstances of a call in a test. */
export interface InvokeOptions {
  /** Default: says nothing. */
  readonly log?: Logger | undefined;
  /** Default: one minute. */
  readonly ttl?: Ttl | undefined;
  /** Aborting it is the caller giving up. */
  readonly signal?: AbortSignal | undefined;
  readonly deadline?: Date | undefined;
  /** Default "v1". */
  readonly protocol?: ProtocolVersion | undefined;
  /**
   * What becomes of an error the handler throws. Default "fatal", as when it is served: the response has a FATAL result.
   * With "throw", the error comes out, stack and all.
   */
  readonly onHandlerError?: "fatal" | "throw" | undefined;
}

/**
 * Calls a function in memory, as a control plane would: the request and the response are encoded and decoded on their
 * way, so that nothing passes in a test that would not pass on the wire.
 */
export async function invoke(
  handler: FunctionHandler,
  req: RunFunctionRequest,
  options: InvokeOptions = {},
): Promise<RunFunctionResponse> {
  const ttl = options.ttl === undefined ? DEFAULT_TTL : options.ttl;
  const call = createFunctionCall(toRunFunction(handler), {
    log: options.log ?? nopLogger,
    ttl,
    ttlDuration: toDuration(ttl),
    onHandlerError: options.onHandlerError === "throw" ? "status" : "fatal",
  });
  try {
    return decode(RunFunctionResponse, await call(encode(RunFunctionRequest, req), originOf(options)));
  } catch (error) {
    throw error instanceof CallFailure ? error.cause : error;
  }
}

function originOf({ protocol = "v1", deadline, signal }: InvokeOptions): CallOrigin {
  return {
    protocol,
    deadline: () => deadline,
    onCancel: (listener) => {
      if (signal?.aborted === true) listener();
      else signal?.addEventListener("abort", listener, { once: true });
    },
  };
}

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
