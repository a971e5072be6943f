// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import {
  create,
  type Duration,
  decode,
  encode,
  isJsonObject,
  type ProtocolVersion,
  ResponseMeta,
  RunFunctionRequest,
  RunFunctionResponse,
} from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import type { Logger } from "../logging/new-logger.ts";
import { fatal } from "../response/results.ts";
import { responseTo, type Ttl } from "../response/to.ts";
import type { CallContext, RunFunction } from "./serve-options.ts";

/** The effect of an error that a handler throws: a FATAL result, or a failed call. */
export type OnHandlerError = "fatal" | "status";

/** What all calls of a function share. */
interface FunctionCallSettings extends CallSettings {
  readonly onHandlerError: OnHandlerError;
}

/** A call that fails with a gRPC status instead of a response. */
export class CallError extends Error {
  /** `INTERNAL` when the request could not be read, `UNKNOWN` when the handler threw. */
  readonly status: "INTERNAL" | "UNKNOWN";

  constructor(status: "INTERNAL" | "UNKNOWN", cause: unknown) {
    super(errorText(cause), { cause });
    this.name = "CallError";
    this.status = status;
  }
}

/** Answers an encoded request with an encoded response. Throws or rejects with a CallError. */
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
    throw new CallError("INTERNAL", new Error("cannot read the request", { cause: error }));
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
  if (settings.onHandlerError === "status") throw new CallError("UNKNOWN", error);
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

/** Where a call comes from. */
export interface CallOrigin {
  readonly protocol: ProtocolVersion;
  /** When the caller stops waiting. */
  deadline(): Date | undefined;
  /** Calls `listener` once when the caller gives up; at once if it has. */
  onCancel(listener: () => void): void;
}

/** What all calls of a server share. */
interface CallSettings {
  readonly log: Logger;
  readonly ttl: Ttl;
  /** The same, in the form in which it travels. */
  readonly ttlDuration: Duration | undefined;
}

/** The context of one call. Most handlers use little of it, so each part is created on first use. */
class Call implements CallContext {
  readonly #settings: CallSettings;
  readonly #origin: CallOrigin;
  readonly #req: RunFunctionRequest;
  #log: Logger | undefined;
  #controller: AbortController | undefined;
  #finished = false;

  constructor(settings: CallSettings, origin: CallOrigin, req: RunFunctionRequest) {
    this.#settings = settings;
    this.#origin = origin;
    this.#req = req;
  }

  get log(): Logger {
    this.#log ??= this.#settings.log.withValues({ tag: this.#req.meta?.tag ?? "", ...subjectOf(this.#req) });
    return this.#log;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      const controller = new AbortController();
      this.#controller = controller;
      this.#origin.onCancel(() => {
        // A call that was answered is not cancelled, though the transport closes it in the same way.
        if (!this.#finished) controller.abort(new DOMException("call cancelled by the client", "AbortError"));
      });
    }
    return this.#controller.signal;
  }

  get deadline(): Date | undefined {
    return this.#origin.deadline();
  }

  get protocol(): ProtocolVersion {
    return this.#origin.protocol;
  }

  get ttl(): Ttl {
    return this.#settings.ttl;
  }

  to(req: RunFunctionRequest): RunFunctionResponse {
    return responseTo(req, this.#settings.ttlDuration);
  }

  /** To be called when the handler is done. */
  finish(): void {
    this.#finished = true;
  }
}

/** The composite resource that a call is about, for log lines: a log of many resources can be read for one of them. */
function subjectOf(req: RunFunctionRequest): { readonly xr?: string; readonly namespace?: string } {
  try {
    const { kind, metadata } = req.observed?.composite?.resource?.value ?? {};
    const { name, namespace } = isJsonObject(metadata) ? metadata : {};
    if (typeof kind !== "string" || typeof name !== "string") return {};
    return { xr: `${kind}/${name}`, ...(typeof namespace === "string" && { namespace }) };
  } catch {
    // The object cannot be decoded. The handler reports it where it reads it; logging must not fail.
    return {};
  }
}
