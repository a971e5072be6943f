// SPDX-License-Identifier: Apache-2.0

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inTurns } from "@purlin/base";
import { notFound, type StatusError, serviceUnavailable } from "@purlin/kube-objects/errors";
import { printingJson } from "@purlin/kube-objects/json";
import { type RunStore, recorderWaits, runsDocument } from "@purlin/run-store";
import type { Registry } from "prom-client";
import type { ControlPlane } from "./control-plane.ts";

/** A response: plain text unless a content type is given. */
interface TextAnswer {
  readonly code?: number;
  readonly text: string;
  readonly contentType?: string;
}

/** The routes by path, or what answers all of them. */
type TextRoutes =
  | Readonly<Record<string, () => TextAnswer | Promise<TextAnswer>>>
  | ((path: string, query: URLSearchParams) => Promise<TextAnswer>);

/** A small server that answers GET requests with text. */
interface TextServer {
  /** Where it listens, such as `127.0.0.1:8080`. */
  readonly address: string;
  close(): Promise<void>;
}

const requestMs = 10_000;

/** The addresses of the status endpoints. An address that is left out is not served. */
interface StatusOptions {
  /** `/metrics`, for Prometheus. */
  readonly metricsAddress?: string | undefined;
  /** `/healthz` and `/readyz`, for probes. */
  readonly healthAddress?: string | undefined;
  readonly registry: Registry;
}

/** The endpoints of a control plane. */
interface StatusServers extends AsyncDisposable {
  readonly metricsAddress: string | undefined;
  readonly healthAddress: string | undefined;
}

/**
 * Serves metrics and health. It is healthy until it has ended; it is ready when its controllers run, and also while it
 * waits for another one to stop leading: that is what a replica is for.
 */
export async function serveStatus(
  plane: Pick<ControlPlane, "state">,
  { metricsAddress, healthAddress, registry }: StatusOptions,
): Promise<StatusServers> {
  await using opened = new AsyncDisposableStack();
  const open = async (address: string | undefined, routes: Parameters<typeof serveText>[1]) => {
    if (address === undefined) return undefined;
    const server: TextServer = await serveText(address, routes);
    opened.defer(() => server.close());
    return server.address;
  };
  const metrics = await open(metricsAddress, {
    "/metrics": async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  });
  const health = await open(healthAddress, {
    "/healthz": () => (plane.state === "stopped" ? notOk(plane) : ok),
    "/readyz": () => (plane.state === "running" || plane.state === "waiting" ? ok : notOk(plane)),
  });
  // Kept open from here on: the caller closes them.
  const closing = opened.move();
  return {
    metricsAddress: metrics,
    healthAddress: health,
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

const ok = { text: "ok\n" };
const notOk = ({ state }: Pick<ControlPlane, "state">) => ({ code: 503, text: `${state}\n` });

/** Listens at `host:port`, or `:port` on all interfaces. Rejects when it cannot, naming the address. */
export async function serveText(address: string, routes: TextRoutes): Promise<TextServer> {
  const { host, port } = parseAddress(address);
  const server = createServer((request, response) => void answer(routes, request, response));
  // More than enough for a few lines.
  server.requestTimeout = requestMs;
  server.headersTimeout = requestMs;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", (error) => reject(new Error(`cannot listen at ${address}: ${error.message}`, { cause: error })));
  server.listen({ port, ...(host !== "" && { host }) }, resolve);
  await promise;
  const bound = server.address() as AddressInfo;
  return {
    address: `${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`,
    close() {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      return closed.promise;
    },
  };
}

function parseAddress(address: string): { readonly host: string; readonly port: number } {
  const match = /^(?:\[(?<six>[^\]]*)\]|(?<host>[^:]*)):(?<port>\d{1,5})$/.exec(address);
  const port = Number(match?.groups?.["port"]);
  if (match === null || port > 65_535) {
    throw new Error(`expected an address such as :8080 or 127.0.0.1:8080, not "${address}"`);
  }
  return { host: match.groups?.["six"] ?? match.groups?.["host"] ?? "", port };
}

async function answer(routes: TextRoutes, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { code = 200, text, contentType = "text/plain; charset=utf-8" } = await find(routes, request);
  response.writeHead(code, { "content-type": contentType, "content-length": Buffer.byteLength(text) });
  response.end(request.method === "HEAD" ? undefined : text);
}

async function find(routes: TextRoutes, { method, url = "/" }: IncomingMessage): Promise<TextAnswer> {
  const [path = "/", query = ""] = url.split("?", 2);
  const route =
    typeof routes === "function"
      ? () => routes(path, new URLSearchParams(query))
      : Object.hasOwn(routes, path)
        ? routes[path]
        : undefined;
  if (route === undefined) return { code: 404, text: `not found: ${JSON.stringify(path)}\n` };
  if (method !== "GET" && method !== "HEAD") return { code: 405, text: "method not allowed: use GET\n" };
  try {
    return await route();
  } catch (error) {
    return { code: 500, text: `${error instanceof Error ? error.message : String(error)}\n` };
  }
}

const contentType = "application/json";

/**
 * Serves the recorded runs at an address, for the API server's service proxy. Failures are Status objects, as clients of an API server
 * expect them. A replica that does not lead has no runs of this control plane, or old ones: it does not answer with them.
 */
export function serveRuns(address: string, plane: Pick<ControlPlane, "state">, runs: RunStore): Promise<TextServer> {
  return serveText(address, async (path, query) => {
    if (plane.state !== "running") return failure(serviceUnavailable(recorderWaits));
    const document = await runsDocument(runs, path, query);
    if (document === undefined) return failure(notFound({ group: "", resource: "runs" }, path.split("/").at(-1) ?? ""));
    let text = "";
    await inTurns(printingJson(document, {}, (part) => (text += part)));
    return { text, contentType };
  });
}

function failure({ status }: StatusError): TextAnswer {
  return { code: status.code ?? 500, text: JSON.stringify(status), contentType };
}
