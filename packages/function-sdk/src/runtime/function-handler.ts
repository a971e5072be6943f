// SPDX-License-Identifier: Apache-2.0
import type { ProtocolVersion, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { Logger } from "../logging/new-logger.ts";
import type { Ttl } from "../response/to.ts";

/** What a handler gets beside the request. */
export interface CallContext {
  /** Carries the request's tag. */
  readonly log: Logger;
  /** Aborted when the caller gives up or its deadline passes. */
  readonly signal: AbortSignal;
  /** When the caller stops waiting, if it said so. */
  readonly deadline?: Date | undefined;
  /** The protocol version the caller speaks. The messages are the same. */
  readonly protocol: ProtocolVersion;
  /** The TTL the function was configured with. */
  readonly ttl: Ttl;
  /** The response to start from, with the configured TTL: response.to(req, {ttl: ctx.ttl}). */
  to(req: RunFunctionRequest): RunFunctionResponse;
}

/** What a handler returns. */
export type HandlerResult = RunFunctionResponse | Promise<RunFunctionResponse>;

/** A function, as a plain function. */
export type RunFunction = (req: RunFunctionRequest, ctx: CallContext) => HandlerResult;

/** A composition function: a plain function, or an object that has one. */
export type FunctionHandler = RunFunction | { runFunction(req: RunFunctionRequest, ctx: CallContext): HandlerResult };

/** The plain function of a handler. */
export function toRunFunction(handler: FunctionHandler): RunFunction {
  return typeof handler === "function" ? handler : (req, ctx) => handler.runFunction(req, ctx);
}
