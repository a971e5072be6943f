// SPDX-License-Identifier: Apache-2.0
import type { Socket } from "node:net";
import process from "node:process";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { type ProtocolVersion, serviceNames } from "@purlin/function-protocol";
import { type Logger, newLogger } from "../logging/new-logger.ts";
import { toDuration } from "../response/to.ts";
import { createFunctionCall } from "./function-call.ts";
import { FunctionService, HealthService, healthServiceName } from "./function-service.ts";
import { type BoundAddress, Connections, listen } from "./listen.ts";
import { type CallCounts, createCallCounts, type MetricsServer } from "./metrics-server.ts";
import { CertificateWatch, MutualTls, readCertificates } from "./mutual-tls.ts";
import { reflectionServiceName, registerReflection } from "./reflection-service.ts";
import {
  applyDefaults,
  type FunctionHandler,
  type ServeOptions,
  type Settings,
  toRunFunction,
} from "./serve-options.ts";

/** A function that is being served. */
export interface RunningFunction extends BoundAddress {
  /** Where metrics are served; undefined when they are not. */
  readonly metricsAddress: string | undefined;
  /** The health reported to health checks. True from the start; set it to false, for example, while a dependency is down. */
  setServing(serving: boolean): void;
  /** Accepts no more calls, lets those in flight finish, cuts what is left after the grace period. */
  stop(graceMs?: number): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** How long the answers to interrupted calls may take to be sent before their connections are cut. */
const flushMs = 200;

/**
 * Starts serving a function and resolves when it listens. Signals are left alone: see {@link serve} for a function that
 * is a process of its own.
 */
export async function start(handler: FunctionHandler, options: ServeOptions = {}): Promise<RunningFunction> {
  const settings = applyDefaults(options);
  const log = options.log ?? newLogger({ debug: options.debug });
  const counts = createCallCounts();
  const health = new HealthService();
  const tls = await openTls(settings, log, (socket) => injector.injectConnection(socket));
  const { server, services } = createGrpcServer(handler, { settings, log, counts, health });
  // Plaintext for grpc-js: with TLS it gets connections that are decrypted, and whose peers are verified.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const connections = new Connections(tls.accept);
  let bound: BoundAddress;
  try {
    bound = await listen(connections.server, settings.network, settings.address);
  } catch (error) {
    tls.close();
    server.forceShutdown();
    throw error;
  }
  const metrics = await serveMetrics({ settings, log, counts, health });
  log.info("serving", { address: bound.address, tls: settings.tlsCertsDir !== undefined });

  const cut = (): void => {
    for (const service of services) service.interrupt();
    setTimeout(() => connections.destroy(), flushMs).unref();
  };
  let stopped: Promise<void> | undefined;
  const stop = async (graceMs: number): Promise<void> => {
    health.stop();
    tls.close();
    const closed = connections.close();
    // Refuses new calls on every connection, and closes a connection once its calls are answered.
    server.tryShutdown(() => {});
    const grace = setTimeout(cut, graceMs);
    await Promise.all([closed.finally(() => clearTimeout(grace)), metrics?.close()]);
    log.info("stopped", { address: bound.address });
  };
  return {
    ...bound,
    metricsAddress: metrics?.address,
    setServing: (serving) => health.setServing(serving),
    stop: (graceMs = settings.shutdownGraceMs) => {
      // Asked again, perhaps more impatiently: there is only one stop, but the grace period may end sooner.
      if (stopped !== undefined && graceMs === 0) cut();
      stopped ??= stop(graceMs);
      return stopped;
    },
    [Symbol.asyncDispose]: () => {
      stopped ??= stop(settings.shutdownGraceMs);
      return stopped;
    },
  };
}

interface ServerDeps {
  readonly settings: Settings;
  readonly log: Logger;
  readonly counts: Readonly<Record<ProtocolVersion, CallCounts>>;
  readonly health: HealthService;
}

interface GrpcServer {
  readonly server: Server;
  /** The function, once a protocol version. */
  readonly services: readonly FunctionService[];
}

function createGrpcServer(handler: FunctionHandler, { settings, log, counts, health }: ServerDeps): GrpcServer {
  const server = new Server({
    "grpc.max_receive_message_length": settings.maxRecvBytes,
    "grpc.max_send_message_length": settings.maxSendBytes,
    "grpc.enable_channelz": 0,
  });
  const { ttl, onHandlerError } = settings;
  const call = createFunctionCall(toRunFunction(handler), { log, ttl, ttlDuration: toDuration(ttl), onHandlerError });
  const services = (["v1", "v1beta1"] as const).map((version) => new FunctionService(version, call, counts[version]));
  for (const service of services) service.register(server);
  if (settings.health) health.register(server);
  if (settings.reflection) {
    const optional = settings.health ? [healthServiceName] : [];
    registerReflection(server, [serviceNames.v1, serviceNames.v1beta1, ...optional, reflectionServiceName]);
  }
  return { server, services };
}

/** Loaded when it is wanted: a function without metrics pays for neither an HTTP server nor the library. */
async function serveMetrics({ settings, log, counts }: ServerDeps): Promise<MetricsServer | undefined> {
  const { metricsAddress: address, metricsSource: source } = settings;
  if (address === "") return undefined;
  const { startMetrics } = await import("./metrics-server.ts");
  return startMetrics({ address, counts, source, log });
}

interface Transport {
  /** Serves a new connection. */
  readonly accept: (socket: Socket) => void;
  close(): void;
}

async function openTls(settings: Settings, log: Logger, serveHttp2: (socket: Socket) => void): Promise<Transport> {
  const { tlsCertsDir: directory, reloadCerts } = settings;
  if (directory === undefined) return { accept: serveHttp2, close: () => {} };
  const current = await readCertificates(directory);
  const tls = new MutualTls(current, { serveHttp2, log });
  const accept = tls.accept.bind(tls);
  if (!reloadCerts) return { accept, close: () => {} };
  const watch = new CertificateWatch({ directory, current, onChange: tls.replace.bind(tls), log });
  return { accept, close: () => watch.close() };
}

/** Options of {@link serve}. */
export interface ServeUntilOptions extends ServeOptions {
  /** Stops the function when it is aborted, as a signal to the process does. */
  readonly signal?: AbortSignal | undefined;
  /** Called once the function listens. */
  readonly onReady?: ((running: RunningFunction) => void) | undefined;
}

const stopSignals = ["SIGTERM", "SIGINT"] as const;

/**
 * Serves a function until the process gets SIGTERM or SIGINT, and resolves once it has stopped: calls in flight may
 * finish within the grace period. A second signal ends that period at once.
 */
export async function serve(handler: FunctionHandler, options: ServeUntilOptions = {}): Promise<void> {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  let running: RunningFunction | undefined;
  let times = 0;
  const stop = (): void => {
    times++;
    ask();
    if (times > 1) void running?.stop(0);
  };
  // Before the function starts: a signal that comes meanwhile must not end the process in its own way.
  for (const signal of stopSignals) process.on(signal, stop);
  options.signal?.addEventListener("abort", stop);
  if (options.signal?.aborted === true) stop();
  try {
    running = await start(handler, options);
    options.onReady?.(running);
    await asked;
    await running.stop(times > 1 ? 0 : undefined);
  } finally {
    for (const signal of stopSignals) process.off(signal, stop);
    options.signal?.removeEventListener("abort", stop);
  }
}
