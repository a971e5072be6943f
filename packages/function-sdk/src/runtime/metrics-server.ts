// SPDX-License-Identifier: Apache-2.0

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import process from "node:process";
import { type ProtocolVersion, serviceNames } from "@purlin/function-protocol";
import type { Registry } from "prom-client";
import { errorText } from "../errors/function-error.ts";
import type { Logger } from "../logging/new-logger.ts";
import { listen } from "./listen.ts";
import type { MetricsSource } from "./serve-options.ts";

/** How calls may end. */
type CallCode = "OK" | "Internal" | "Unavailable" | "Unknown";

/** Plain numbers, so that counting costs a call almost nothing. The metrics server reads them on request. */
export interface CallCounts {
  started: number;
  received: number;
  sent: number;
  readonly handled: Record<CallCode, number>;
}

/** Counts of both protocol versions, all zero. */
export function createCallCounts(): Readonly<Record<ProtocolVersion, CallCounts>> {
  return { v1: zero(), v1beta1: zero() };
}

function zero(): CallCounts {
  return { started: 0, received: 0, sent: 0, handled: { OK: 0, Internal: 0, Unavailable: 0, Unknown: 0 } };
}

type Counts = Readonly<Record<ProtocolVersion, CallCounts>>;

const methodLabels = ["grpc_type", "grpc_service", "grpc_method"];

/**
 * A registry of the counters functions in Go have, under the same names, and of what the process uses. prom-client is
 * loaded here and not before: a function without metrics never pays for it.
 */
export async function createMetricsRegistry(counts: Counts): Promise<Registry> {
  const { Counter, Gauge, Registry: MetricsRegistry } = await import("prom-client");
  const registry = new MetricsRegistry();
  const registers = [registry];

  const counter = (name: string, help: string, read: (one: CallCounts) => number): void => {
    const metric = new Counter({
      name,
      help,
      labelNames: methodLabels,
      registers,
      collect: () => {
        metric.reset();
        for (const [version, one] of entries(counts)) metric.inc(labelsOf(version), read(one));
      },
    });
  };
  counter("grpc_server_started_total", "RPCs started on the server.", (one) => one.started);
  counter("grpc_server_msg_received_total", "RPC messages received on the server.", (one) => one.received);
  counter("grpc_server_msg_sent_total", "RPC messages sent by the server.", (one) => one.sent);

  const handled = new Counter({
    name: "grpc_server_handled_total",
    help: "RPCs completed on the server, regardless of outcome.",
    labelNames: [...methodLabels, "grpc_code"],
    registers,
    collect: () => {
      handled.reset();
      for (const [version, one] of entries(counts)) {
        for (const [code, value] of Object.entries(one.handled)) {
          handled.inc({ ...labelsOf(version), grpc_code: code }, value);
        }
      }
    },
  });

  const gauge = (name: string, help: string, read: () => number): void => {
    const metric = new Gauge({
      name,
      help,
      registers,
      collect: () => {
        metric.set(read());
      },
    });
  };
  gauge("process_resident_memory_bytes", "Resident memory size in bytes.", () => process.memoryUsage.rss());
  gauge("process_cpu_seconds_total", "User and system CPU time spent, in seconds.", cpuSeconds);
  gauge("process_start_time_seconds", "Start time of the process, in seconds since the Unix epoch.", startSeconds);
  return registry;
}

function entries(counts: Counts): [ProtocolVersion, CallCounts][] {
  return Object.entries(counts) as [ProtocolVersion, CallCounts][];
}

function labelsOf(version: ProtocolVersion): Record<string, string> {
  return { grpc_type: "unary", grpc_service: serviceNames[version], grpc_method: "RunFunction" };
}

function cpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

function startSeconds(): number {
  return Math.round(Date.now() / 1000 - process.uptime());
}

/** What a metrics server needs. */
export interface MetricsServerOptions {
  readonly address: string;
  readonly counts: Readonly<Record<ProtocolVersion, CallCounts>>;
  readonly source: MetricsSource | undefined;
  readonly log: Logger;
}

/** A metrics server that is up. */
export interface MetricsServer {
  readonly address: string;
  close(): Promise<void>;
}

/** Serves Prometheus text. A function is worth running without metrics, so a failure is logged and no more. */
export async function startMetrics(options: MetricsServerOptions): Promise<MetricsServer | undefined> {
  const { address, counts, source, log } = options;
  try {
    const registry = await createMetricsRegistry(counts);
    const server = createServer((request, response) => void respond({ registry, source }, request, response));
    const bound = await listen(server, "tcp", address);
    return { address: bound.address, close: () => close(server) };
  } catch (error) {
    log.error("cannot serve metrics, continuing without them", { address, error: errorText(error) });
    return undefined;
  }
}

interface ServedMetrics {
  readonly registry: Registry;
  readonly source: MetricsSource | undefined;
}

async function respond(
  { registry, source }: ServedMetrics,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (request.url?.split("?")[0] !== "/metrics") {
    response.writeHead(404).end();
    return;
  }
  try {
    const parts = [await registry.metrics(), (await source?.metrics()) ?? ""];
    response.writeHead(200, { "content-type": registry.contentType }).end(parts.join(""));
  } catch (error) {
    response.writeHead(500, { "content-type": "text/plain" }).end(`cannot collect metrics: ${errorText(error)}\n`);
  }
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
