// SPDX-License-Identifier: Apache-2.0

import type { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { Client, type ClientUnaryCall, experimental, Metadata, type ServiceError, status } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";
import { FunctionCredentials, type TlsSource } from "./channel-credentials.ts";
import {
  authorityOf,
  Balancer,
  BalancerConfig,
  ChannelResolver,
  contextOptions,
  type Endpoint,
  type NameResolver,
  parseEndpoint,
  policy,
  scheme,
  serverNameOf,
} from "./channel-resolver.ts";
import { explainOddAnswer, Outage } from "./rpc-failure.ts";

/** How connections are made. */
export interface ConnectionOptions {
  /** Undefined for plaintext. */
  readonly tls: TlsSource | undefined;
  /** The common name that the server's certificate must carry; any unless given. */
  readonly commonName?: string | undefined;
  readonly names: NameResolver;
  readonly clock: Clock;
  readonly maxRequestBytes: number;
  readonly maxResponseBytes: number;
}

/** When a call must end. */
interface InvokeOptions {
  readonly deadline: number;
  readonly signal?: AbortSignal | undefined;
}

/** At most this many calls wait for a function that stays unreachable; they see at once when it is back. */
export const mostWaiting = 10;

const waitForReady = new Metadata({ waitForReady: true });
const serviceConfig = JSON.stringify({ loadBalancingConfig: [{ [policy]: {} }], methodConfig: [] });
const asIs = (bytes: Buffer): Buffer => bytes;

/** A function revision's connection: one gRPC channel over all addresses of its endpoint. Nothing is dialled before the first call. */
export class FunctionConnection {
  readonly endpoint: Endpoint;
  readonly #client: Client;
  readonly #outage: Outage;
  readonly #clock: Clock;
  readonly #calls = new Set<ClientUnaryCall>();
  /** Calls that were ended because too many wait, or in vain. */
  readonly #turnedAway = new WeakSet<ClientUnaryCall>();
  readonly #sockets = new Set<Socket>();
  /** Counts connections made and lost; facts about one do not apply to the next. */
  #epoch = 0;
  #betaOnlyIn = -1;
  /** Runs that use the connection; a run may take several calls. */
  #users = 0;
  #cancelDrain: (() => void) | undefined;
  #closed = false;

  constructor(endpoint: string, options: ConnectionOptions) {
    registerOnce();
    this.endpoint = parseEndpoint(endpoint);
    const { tls, commonName, names, clock } = options;
    this.#clock = clock;
    const outage = new Outage(clock, () => this.#shed());
    this.#outage = outage;
    const onProblem = (): void => this.#endVainWaits();
    const context = {
      endpoint: this.endpoint,
      names,
      clock,
      secured: tls !== undefined,
      get problem() {
        return outage.problem;
      },
      set problem(problem) {
        outage.problem = problem;
        onProblem();
      },
    };
    const credentials = new FunctionCredentials({
      tls,
      serverName: serverNameOf(this.endpoint),
      commonName,
      path: this.endpoint.kind === "unix" ? this.endpoint.path : undefined,
      clock,
      onOpen: (socket) => this.#opened(socket),
      onConnect: () => {
        this.#epoch++;
      },
      onLost: () => {
        this.#epoch++;
      },
    });
    this.#client = new Client(targetOf(endpoint, this.endpoint), credentials, {
      ...contextOptions(context),
      "grpc.service_config": serviceConfig,
      "grpc.service_config_disable_resolution": 1,
      "grpc.use_local_subchannel_pool": 1,
      "grpc.enable_http_proxy": 0,
      "grpc.enable_channelz": 0,
      "grpc.max_send_message_length": options.maxRequestBytes,
      "grpc.max_receive_message_length": options.maxResponseBytes,
      // A function that is just starting should be found soon, not after gRPC's usual two minutes.
      "grpc.initial_reconnect_backoff_ms": 100,
      "grpc.max_reconnect_backoff_ms": 5_000,
    });
  }

  /** Sends one message and waits for the answer. Rejects with gRPC's ServiceError. */
  invoke(path: string, request: Buffer, { deadline, signal }: InvokeOptions): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    let headers: Metadata | undefined;
    const cancel = (): void => call.cancel();
    const done = (error: ServiceError | null, response?: Buffer): void => {
      signal?.removeEventListener("abort", cancel);
      this.#calls.delete(call);
      if (this.#turnedAway.has(call)) reject(this.#unreachable());
      else if (error !== null) reject(explainOddAnswer(error, headers));
      else resolve(response as Buffer);
    };
    if (this.#outage.isLong && this.#calls.size >= mostWaiting) return Promise.reject(this.#unreachable());
    const call = this.#client.makeUnaryRequest(path, asIs, asIs, request, waitForReady, { deadline }, done);
    this.#calls.add(call);
    call.once("metadata", (received: Metadata) => {
      headers = received;
    });
    signal?.addEventListener("abort", cancel);
    if (signal?.aborted) cancel();
    return promise;
  }

  /** Why the function cannot be reached right now, if it is known. */
  get problem(): string | undefined {
    return this.#outage.problem;
  }

  get callsInFlight(): number {
    return this.#calls.size;
  }

  get openSockets(): number {
    return this.#sockets.size;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Closed, and nothing of it is left. */
  get isGone(): boolean {
    return this.#closed && this.#sockets.size === 0 && this.#calls.size === 0;
  }

  /** Changes with every connection made or lost. */
  get epoch(): number {
    return this.#epoch;
  }

  /** Whether the function is known not to serve v1. Forgotten as soon as a connection is made or lost. */
  get isBetaOnly(): boolean {
    return this.#betaOnlyIn === this.#epoch;
  }

  /** Stores a fact about an epoch, which may be over. */
  rememberBetaOnly(epoch: number): void {
    this.#betaOnlyIn = epoch;
  }

  forgetBetaOnly(): void {
    this.#betaOnlyIn = -1;
  }

  /** Keeps the connection open while `run` uses it, also when it is drained meanwhile. */
  async use<T>(run: () => Promise<T>): Promise<T> {
    this.#users++;
    try {
      return await run();
    } finally {
      this.#users--;
      if (this.#cancelDrain !== undefined && this.#users === 0) this.close();
    }
  }

  /** Lets runs finish and then closes; after `limitMs` their calls are cancelled. */
  drain(limitMs: number): void {
    if (this.#closed || this.#cancelDrain !== undefined) return;
    if (this.#users === 0) this.close();
    else this.#cancelDrain = this.#clock.schedule(limitMs, () => this.close());
    this.#endVainWaits();
  }

  /** Ends everything now. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#cancelDrain?.();
    this.#outage.end();
    for (const call of this.#calls) call.cancel();
    this.#client.close();
    // gRPC says goodbye on the next tick and then waits for the peer, which may never answer.
    setImmediate(() => {
      for (const socket of this.#sockets) socket.destroy();
    });
  }

  /** A waiting call blocks its reconcile, so only a few may wait. */
  #shed(): void {
    this.#turnAway([...this.#calls].slice(mostWaiting));
  }

  /** The function moved and its old address is down: calls that wait there are retried at the new address. */
  #endVainWaits(): void {
    if (this.#cancelDrain !== undefined && this.#outage.problem !== undefined) this.#turnAway([...this.#calls]);
  }

  #turnAway(calls: readonly ClientUnaryCall[]): void {
    for (const call of calls) {
      this.#turnedAway.add(call);
      call.cancel();
    }
  }

  #unreachable(): ServiceError {
    const details = `function unreachable: ${this.#outage.problem ?? "unknown error"}`;
    return Object.assign(new Error(details), { code: status.UNAVAILABLE, details, metadata: new Metadata() });
  }

  #opened(socket: Socket): void {
    this.#sockets.add(socket);
    // The former reason no longer applies; this one does until the server responds.
    if (this.#outage.problem !== undefined) this.#outage.problem = "connected, but no HTTP/2 response";
    socket.once("close", () => this.#sockets.delete(socket));
    if (this.#closed) socket.destroy();
  }
}

function targetOf(text: string, endpoint: Endpoint): string {
  return `${scheme}:///${endpoint.kind === "unix" ? text : authorityOf(endpoint)}`;
}

let registered = false;

function registerOnce(): void {
  if (registered) return;
  registered = true;
  experimental.registerResolver(scheme, ChannelResolver);
  experimental.registerLoadBalancerType(policy, Balancer, BalancerConfig);
}
