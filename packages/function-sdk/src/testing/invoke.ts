// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import { Client, credentials, type ServiceError } from "@grpc/grpc-js";
import {
  decode,
  encode,
  type ProtocolVersion,
  RunFunctionRequest,
  RunFunctionResponse,
  runFunctionPaths,
  runUntilSettled,
} from "@purlin/function-protocol";
import { type Logger, nopLogger } from "../logging/new-logger.ts";
import { DEFAULT_TTL, type Ttl, toDuration } from "../response/to.ts";
import { CallError, type CallOrigin, createFunctionCall } from "../runtime/function-call.ts";
import { type FunctionHandler, type ServeOptions, toRunFunction } from "../runtime/serve-options.ts";
import { type RunningFunction, start } from "../runtime/start.ts";
import { createMemorySource, type MemorySourceOptions } from "./memory-source.ts";

/** The circumstances of a call in a test. */
export interface InvokeOptions {
  /** Default: writes nothing. */
  readonly log?: Logger | undefined;
  /** Default: one minute. */
  readonly ttl?: Ttl | undefined;
  /** Aborted when the caller cancels the call. */
  readonly signal?: AbortSignal | undefined;
  readonly deadline?: Date | undefined;
  /** Default "v1". */
  readonly protocol?: ProtocolVersion | undefined;
  /**
   * The effect of an error that the handler throws. Default "fatal", as when it is served: the response has a FATAL result.
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
    throw error instanceof CallError ? error.cause : error;
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

/** A function that is served on this machine, and a client for it. */
export interface TestServer extends RunningFunction {
  /** Calls the function over the network. Rejects with the gRPC error when the call fails. */
  call(req: RunFunctionRequest, protocol?: ProtocolVersion): Promise<RunFunctionResponse>;
}

const asIs = (bytes: Buffer): Buffer => bytes;
const largest = 64 * 1024 * 1024;

/** Serves a function in plaintext on a free port of the loopback interface, without metrics. */
export async function startTestServer(handler: FunctionHandler, options: ServeOptions = {}): Promise<TestServer> {
  const defaults = { address: "127.0.0.1:0", insecure: true, metricsAddress: "", log: nopLogger };
  const running = await start(handler, { ...defaults, ...options });
  const client = new Client(running.address, credentials.createInsecure(), {
    "grpc.max_receive_message_length": largest,
    "grpc.use_local_subchannel_pool": 1,
  });
  const stop = async (graceMs?: number): Promise<void> => {
    client.close();
    await running.stop(graceMs);
  };
  return {
    ...running,
    call: (req, protocol = "v1") => unary(client, runFunctionPaths[protocol], req),
    stop,
    [Symbol.asyncDispose]: () => stop(),
  };
}

function unary(client: Client, path: string, req: RunFunctionRequest): Promise<RunFunctionResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<RunFunctionResponse>();
  const done = (error: ServiceError | null, bytes?: Buffer): void => {
    if (error !== null) reject(error);
    else if (bytes === undefined) reject(new Error("the server answered without a message"));
    else resolve(decode(RunFunctionResponse, bytes));
  };
  client.makeUnaryRequest(path, asIs, asIs, encode(RunFunctionRequest, req), done);
  return promise;
}
