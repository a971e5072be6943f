// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import {
  create,
  decode,
  encode,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
} from "@purlin/function-protocol";
import { errorText } from "../errors/error-text.ts";
import { FunctionError } from "../errors/function-error.ts";
import { fatal } from "../response/results.ts";
import { responseTo } from "../response/to.ts";
import { Call, type CallOrigin, type CallSettings } from "./call.ts";
import type { RunFunction } from "./function-handler.ts";

/** What becomes of an error a handler throws: a FATAL result, or a failed call. */
export type OnHandlerError = "fatal" | "status";

/** What all calls of a function share. */
interface FunctionCallSettings extends CallSettings {
  readonly onHandlerError: OnHandlerError;
}

/** A call that fails with a gRPC status instead of a response. */
export class CallFailure extends Error {
  /** `INTERNAL` when the request could not be read, `UNKNOWN` when the handler threw. */
  readonly status: "INTERNAL" | "UNKNOWN";

  constructor(status: "INTERNAL" | "UNKNOWN", cause: unknown) {
    super(errorText(cause), { cause });
    this.name = "CallFailure";
    this.status = status;
  }
}

/** Answers an encoded request with an encoded response. Throws or rejects with a CallFailure. */
export type FunctionCall = (request: Uint8Array, origin: CallOrigin) => Buffer | Promise<Buffer>;

/**
 * Puts a handler between bytes and bytes. There is no promise around a handler that does not make one itself, and no
 * Struct is decoded but by the handler: at thousands of calls a second that is most of the cost.
 */
export function createFunctionCall(run: RunFunction, settings: FunctionCallSettings): FunctionCall {
  return (bytes, origin) => {
    const req = readRequest(bytes);
    const call = new Call(settings, origin, req);
    const running: RunningCall = { settings, req, call };
    try {
      const answer = run(req, call);
      if (!isPromise(answer)) return finish(running, answer);
      return Promise.resolve(answer).then(
        (rsp) => finish(running, rsp),
        (error: unknown) => fail(running, error),
      );
    } catch (error) {
      return fail(running, error);
    }
  };
}

function readRequest(bytes: Uint8Array): RunFunctionRequest {
  try {
    return decode(RunFunctionRequest, bytes);
  } catch (error) {
    throw new CallFailure("INTERNAL", new Error("cannot read the request", { cause: error }));
  }
}

function isPromise(answer: unknown): answer is Promise<RunFunctionResponse> {
  return typeof answer === "object" && answer !== null && "then" in answer && typeof answer.then === "function";
}

interface RunningCall {
  readonly settings: FunctionCallSettings;
  readonly req: RunFunctionRequest;
  readonly call: Call;
}

function finish(running: RunningCall, rsp: RunFunctionResponse | undefined): Buffer {
  const { req, call } = running;
  call.finish();
  try {
    if (!isResponse(rsp)) throw new FunctionError("NO_RESPONSE", "the function returned no response");
    return encode(RunFunctionResponse, withTag(rsp, req, call));
  } catch (error) {
    return fail(running, error);
  }
}

/** Anything else would be sent as a response that desires nothing, and everything composed so far would be deleted. */
function isResponse(rsp: unknown): rsp is RunFunctionResponse {
  return typeof rsp === "object" && rsp !== null && ("desired" in rsp || "meta" in rsp);
}

/** The tag must come back as it was sent. A response made by hand may lack it; a copy gets it, as it may be shared. */
function withTag(rsp: RunFunctionResponse, req: RunFunctionRequest, call: Call): RunFunctionResponse {
  const tag = req.meta?.tag ?? "";
  const answered = rsp.meta?.tag ?? "";
  if (answered === tag) return rsp;
  if (answered !== "") {
    call.log.error("the function returned a response whose tag differs from the request's", { answered });
    return rsp;
  }
  return { ...rsp, meta: { ...(rsp.meta ?? create(ResponseMeta)), tag } };
}

function fail({ settings, req, call }: RunningCall, error: unknown): Buffer {
  call.finish();
  call.log.error("the function failed", { error: errorText(error), stack: stackOf(error) });
  if (settings.onHandlerError === "status") throw new CallFailure("UNKNOWN", error);
  const rsp = responseTo(req, settings.ttlDuration);
  fatal(rsp, error);
  return encode(RunFunctionResponse, rsp);
}

function stackOf(error: unknown): string | undefined {
  try {
    return error instanceof Error ? error.stack : undefined;
  } catch {
    return undefined;
  }
}
