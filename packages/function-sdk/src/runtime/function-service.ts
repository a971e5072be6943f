// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import { type Server, type ServerUnaryCall, type sendUnaryData, status } from "@grpc/grpc-js";
import { type ProtocolVersion, runFunctionPaths } from "@purlin/function-protocol";
import type { CallOrigin } from "./call.ts";
import { CallFailure, type FunctionCall } from "./function-call.ts";
import { bytesMethod } from "./grpc-method.ts";
import type { CallCounts } from "./metrics-text.ts";

type BytesCall = ServerUnaryCall<Buffer, Buffer>;
type Respond = sendUnaryData<Buffer>;

/** A function in one protocol version. Both have the same bytes, so they share the call. */
export class FunctionService {
  readonly #protocol: ProtocolVersion;
  readonly #call: FunctionCall;
  readonly #counts: CallCounts;
  /** Calls whose handlers returned a promise that has not settled. */
  readonly #inFlight = new Set<Respond>();

  constructor(protocol: ProtocolVersion, call: FunctionCall, counts: CallCounts) {
    this.#protocol = protocol;
    this.#call = call;
    this.#counts = counts;
  }

  /** Adds the service to a server. */
  register(server: Server): void {
    const service = { runFunction: bytesMethod(runFunctionPaths[this.#protocol]) };
    server.addService(service, {
      runFunction: (call: BytesCall, respond: Respond) => this.#answer(call, respond),
    });
  }

  /**
   * Fails every call in flight with UNAVAILABLE. A caller whose connection is just cut sees a code that depends on its
   * library and on timing.
   */
  interrupt(): void {
    const calls = [...this.#inFlight];
    this.#inFlight.clear();
    for (const respond of calls) {
      this.#counts.handled.Unavailable++;
      respond({ code: status.UNAVAILABLE, details: "the function stopped before the call completed" });
    }
  }

  #answer(call: BytesCall, respond: Respond): void {
    this.#counts.started++;
    this.#counts.received++;
    let answered: Buffer | Promise<Buffer>;
    try {
      answered = this.#call(call.request, new GrpcOrigin(call, this.#protocol));
    } catch (error) {
      this.#fail(respond, error);
      return;
    }
    if (!(answered instanceof Promise)) {
      this.#succeed(respond, answered);
      return;
    }
    this.#inFlight.add(respond);
    answered.then(
      (bytes) => {
        if (this.#inFlight.delete(respond)) this.#succeed(respond, bytes);
      },
      (error: unknown) => {
        if (this.#inFlight.delete(respond)) this.#fail(respond, error);
      },
    );
  }

  #succeed(respond: Respond, bytes: Buffer): void {
    this.#counts.sent++;
    this.#counts.handled.OK++;
    respond(null, bytes);
  }

  #fail(respond: Respond, error: unknown): void {
    const internal = error instanceof CallFailure && error.status === "INTERNAL";
    this.#counts.handled[internal ? "Internal" : "Unknown"]++;
    const details = error instanceof Error ? error.message : String(error);
    respond({ code: internal ? status.INTERNAL : status.UNKNOWN, details });
  }
}

class GrpcOrigin implements CallOrigin {
  readonly protocol: ProtocolVersion;
  readonly #call: BytesCall;

  constructor(call: BytesCall, protocol: ProtocolVersion) {
    this.protocol = protocol;
    this.#call = call;
  }

  deadline(): Date | undefined {
    const deadline = this.#call.getDeadline();
    return deadline === Number.POSITIVE_INFINITY ? undefined : new Date(deadline);
  }

  onCancel(listener: () => void): void {
    if (this.#call.cancelled) listener();
    else this.#call.once("cancelled", listener);
  }
}
