// SPDX-License-Identifier: Apache-2.0
import type { Buffer } from "node:buffer";
import {
  type MethodDefinition,
  type Server,
  type ServerUnaryCall,
  type ServerWritableStream,
  type sendUnaryData,
  status,
} from "@grpc/grpc-js";
import {
  create,
  decode,
  encode,
  health,
  type Message,
  type MessageType,
  type ProtocolVersion,
  runFunctionPaths,
  serviceNames,
} from "@purlin/function-protocol";
import { CallError, type CallOrigin, type FunctionCall } from "./function-call.ts";
import type { CallCounts } from "./metrics-server.ts";

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
    const internal = error instanceof CallError && error.status === "INTERNAL";
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

const { HealthCheckRequest, HealthCheckResponse, ServingStatus } = health;

/** The name of the service. */
export const healthServiceName = "grpc.health.v1.Health";

/** The whole server, and the services whose health may be asked for. */
const known = new Set(["", serviceNames.v1, serviceNames.v1beta1]);

type Watcher = ServerWritableStream<health.HealthCheckRequest, health.HealthCheckResponse>;

/** Answers whether the function serves, once or for as long as the caller watches. */
export class HealthService {
  readonly #watchers = new Set<Watcher>();
  #serving = true;

  /** Adds the service to a server. */
  register(server: Server): void {
    const types = { request: HealthCheckRequest, response: HealthCheckResponse };
    const service = {
      check: messageMethod(`/${healthServiceName}/Check`, types),
      watch: messageMethod(`/${healthServiceName}/Watch`, { ...types, responseStream: true }),
    };
    server.addService(service, {
      check: (call: { request: health.HealthCheckRequest }, callback: sendUnaryData<health.HealthCheckResponse>) =>
        this.#check(call.request.service, callback),
      watch: (call: Watcher) => this.#watch(call),
    });
  }

  /** Says whether the function serves, to watchers as well. */
  setServing(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const watcher of this.#watchers) watcher.write(this.#answer(watcher.request.service));
  }

  /** Says that the function no longer serves and lets the watchers go. An open watch would keep its connection open. */
  stop(): void {
    this.setServing(false);
    for (const watcher of this.#watchers) watcher.end();
    this.#watchers.clear();
  }

  #check(service: string, callback: sendUnaryData<health.HealthCheckResponse>): void {
    if (known.has(service)) callback(null, this.#answer(service));
    else callback({ code: status.NOT_FOUND, details: `unknown service ${JSON.stringify(service)}` });
  }

  #watch(call: Watcher): void {
    this.#watchers.add(call);
    call.on("cancelled", () => this.#watchers.delete(call));
    call.write(this.#answer(call.request.service));
  }

  #answer(service: string): health.HealthCheckResponse {
    return create(HealthCheckResponse, { status: this.#statusOf(service) });
  }

  #statusOf(service: string): health.ServingStatus {
    if (!known.has(service)) return ServingStatus.SERVICE_UNKNOWN;
    return this.#serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }
}

/** How the two sides of a method are read and written, and which of them stream. */
interface Sides<I, O> {
  readonly request: I;
  readonly response: O;
  readonly requestStream?: boolean;
  readonly responseStream?: boolean;
}

/** A method whose handler gets and gives bytes. Reading and writing them ourselves lets errors say what was wrong. */
function bytesMethod(path: string): MethodDefinition<Buffer, Buffer> {
  return define(path, { request: bytes, response: bytes });
}

/** A method whose handler gets and gives messages. */
export function messageMethod<I extends Message, O extends Message>(
  path: string,
  { request, response, ...streaming }: Sides<MessageType<I>, MessageType<O>>,
): MethodDefinition<I, O> {
  return define(path, { request: serializer(request), response: serializer(response), ...streaming });
}

interface Serializer<T> {
  readonly read: (bytes: Buffer) => T;
  readonly write: (value: T) => Buffer;
}

const asIs = (value: Buffer): Buffer => value;
const bytes: Serializer<Buffer> = { read: asIs, write: asIs };

function serializer<T extends Message>(type: MessageType<T>): Serializer<T> {
  return { read: (encoded) => decode(type, encoded), write: (message) => encode(type, message) };
}

function define<I, O>(
  path: string,
  { request, response, requestStream = false, responseStream = false }: Sides<Serializer<I>, Serializer<O>>,
): MethodDefinition<I, O> {
  return {
    path,
    requestStream,
    responseStream,
    requestSerialize: request.write,
    requestDeserialize: request.read,
    responseSerialize: response.write,
    responseDeserialize: response.read,
  };
}
