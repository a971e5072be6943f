// SPDX-License-Identifier: Apache-2.0
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { ProtocolVersion } from "@purlin/function-protocol";
import type { Registry } from "prom-client";
import { errorText } from "../errors/function-error.ts";
import type { Logger } from "../logging/new-logger.ts";
import { listen } from "./listen.ts";
import { type CallCounts, createMetricsRegistry } from "./metrics-text.ts";
import type { MetricsSource } from "./serve-options.ts";

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
