// SPDX-License-Identifier: Apache-2.0
import process from "node:process";
import type { ProtocolVersion, RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";
import type { Logger } from "../logging/new-logger.ts";
import { DEFAULT_TTL, type Ttl, toDuration } from "../response/to.ts";
import type { OnHandlerError } from "./function-call.ts";

/** What a handler gets beside the request. */
export interface CallContext {
  /** Carries the request's tag. */
  readonly log: Logger;
  /** Aborted when the caller gives up or its deadline passes. */
  readonly signal: AbortSignal;
  /** When the caller stops waiting, if it said so. */
  readonly deadline?: Date | undefined;
  /** The protocol version of the caller. The messages are the same. */
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

/** What is looked at to find out where a function runs. */
export interface Whereabouts {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
}

/** Metrics of your own, to be shown with the server's. A Registry of prom-client is one. */
export interface MetricsSource {
  /** Prometheus text. */
  metrics(): Promise<string>;
}

/** How a function is served. */
export interface ServeOptions {
  /** Where to listen: `host:port`, `:port` for all interfaces, or a socket path. Default `127.0.0.1:9443`; in a container `:9443`. */
  readonly address?: string | undefined;
  /** Default "tcp". */
  readonly network?: "tcp" | "unix" | undefined;
  /** A directory with tls.crt, tls.key and ca.crt. Callers must show a certificate signed by that authority. */
  readonly tlsCertsDir?: string | undefined;
  /** Serves plaintext, whatever tlsCertsDir says. */
  readonly insecure?: boolean | undefined;
  /** The largest request, in MiB. Default 64. */
  readonly maxRecvMessageSize?: number | undefined;
  /** The largest response, in MiB. Default 64. */
  readonly maxSendMessageSize?: number | undefined;
  /** The TTL of ctx.to. Default one minute. */
  readonly ttl?: Ttl | undefined;
  /** Logs debug messages, in a form for people. */
  readonly debug?: boolean | undefined;
  /** Where Prometheus metrics are served; "" for nowhere. Default `127.0.0.1:8080`; in a container `:8080`. */
  readonly metricsAddress?: string | undefined;
  readonly metricsSource?: MetricsSource | undefined;
  /** Serves grpc.health.v1. Default true. */
  readonly health?: boolean | undefined;
  /** Serves gRPC reflection. Default true. */
  readonly reflection?: boolean | undefined;
  /** Uses rotated certificates for new connections. Default true. */
  readonly reloadCerts?: boolean | undefined;
  /** How long calls in flight may take when the function is stopped. Default 5000. */
  readonly shutdownGraceMs?: number | undefined;
  /** Default "fatal": the error becomes a FATAL result. */
  readonly onHandlerError?: OnHandlerError | undefined;
  /** Default: JSON lines on standard error. */
  readonly log?: Logger | undefined;
}

/** Options with every default applied. */
export interface Settings {
  readonly address: string;
  readonly network: "tcp" | "unix";
  /** Undefined for plaintext. */
  readonly tlsCertsDir: string | undefined;
  readonly maxRecvBytes: number;
  readonly maxSendBytes: number;
  readonly ttl: Ttl;
  readonly metricsAddress: string;
  readonly metricsSource: MetricsSource | undefined;
  readonly health: boolean;
  readonly reflection: boolean;
  readonly reloadCerts: boolean;
  readonly shutdownGraceMs: number;
  readonly onHandlerError: OnHandlerError;
}

const bytesPerMiB = 1024 * 1024;
const defaultMessageSize = 64;

/** Applies defaults and checks what can be checked. Throws NO_CREDENTIALS when it is unclear how to be reached safely. */
export function applyDefaults(options: ServeOptions, whereabouts?: Whereabouts): Settings {
  const host = defaultHost(whereabouts);
  const ttl = options.ttl === undefined ? DEFAULT_TTL : options.ttl;
  toDuration(ttl);
  return {
    address: options.address ?? `${host}:9443`,
    network: options.network ?? "tcp",
    tlsCertsDir: certsDir(options),
    maxRecvBytes: messageBytes("maxRecvMessageSize", options.maxRecvMessageSize),
    maxSendBytes: messageBytes("maxSendMessageSize", options.maxSendMessageSize),
    ttl,
    metricsAddress: options.metricsAddress ?? `${host}:8080`,
    metricsSource: options.metricsSource,
    health: options.health ?? true,
    reflection: options.reflection ?? true,
    reloadCerts: options.reloadCerts ?? true,
    shutdownGraceMs: options.shutdownGraceMs ?? 5000,
    onHandlerError: options.onHandlerError ?? "fatal",
  };
}

function certsDir({ insecure, tlsCertsDir }: ServeOptions): string | undefined {
  if (insecure === true) return undefined;
  if (tlsCertsDir !== undefined && tlsCertsDir !== "") return tlsCertsDir;
  const remedy = "specify a directory with --tls-certs-dir or TLS_SERVER_CERTS_DIR, or serve plaintext with --insecure";
  throw new FunctionError("NO_CREDENTIALS", `no TLS certificates: ${remedy}`);
}

function messageBytes(name: string, mebibytes: number = defaultMessageSize): number {
  if (!(mebibytes > 0) || !Number.isFinite(mebibytes)) {
    throw new FunctionError("INVALID_OPTION", `${name} must be a positive number of MiB, not ${mebibytes}`);
  }
  return Math.floor(mebibytes * bytesPerMiB);
}

/**
 * The host to listen on unless one is given. In a container callers come from outside, so it is empty: all interfaces. That is a Pod,
 * or the first process of any other container. Anywhere else only programs of this machine can call the function.
 */
export function defaultHost({ env, pid }: Whereabouts = ownWhereabouts()): "" | "127.0.0.1" {
  return env["KUBERNETES_SERVICE_HOST"] || pid === 1 ? "" : "127.0.0.1";
}

function ownWhereabouts(): Whereabouts {
  // biome-ignore lint/style/noProcessEnv: only the environment says where a process runs.
  return { env: process.env, pid: process.pid };
}
