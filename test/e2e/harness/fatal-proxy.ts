// SPDX-License-Identifier: Apache-2.0
// A proxy between a control plane and a real API server. It sees each write before the server does, and the answer before the control plane
// does, so that the process can be killed at either moment.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, request } from "node:https";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";

/** A write that the control plane sends. */
export interface ProxiedWrite {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** What to do at one write. */
export interface Fate {
  readonly moment: "before" | "after";
  /** Kills the control plane. */
  strike(): void;
  /** The server refused the write, so that nothing was killed. */
  spare(): void;
}

/** A running proxy. */
export interface FatalProxy extends AsyncDisposable {
  /** The path of a kubeconfig that leads to it. */
  readonly kubeconfig: string;
}

/** The part of the kubeconfig of a real cluster that is needed to call it. */
interface ClusterConfig {
  readonly clusters: readonly [{ readonly cluster: Readonly<Record<string, string>> }];
  readonly users: readonly [{ readonly user: Readonly<Record<string, string>> }];
}

/** Decides on a write: it is sent on, it is fatal, or it is lost, because the control plane that sent it is dead already. */
export type FateOf = (write: ProxiedWrite) => Fate | "lost" | undefined;

/** Starts a proxy in front of the server of a kubeconfig. */
export async function startFatalProxy(kubeconfig: string, fateOf: FateOf): Promise<FatalProxy> {
  const config = JSON.parse(readFileSync(kubeconfig, "utf8")) as ClusterConfig;
  const [{ cluster }] = config.clusters;
  const [{ user }] = config.users;
  const decoded = (text: string | undefined): Buffer => Buffer.from(text ?? "", "base64");
  const agent = new Agent({
    keepAlive: true,
    ca: decoded(cluster["certificate-authority-data"]),
    cert: decoded(user["client-certificate-data"]),
    key: decoded(user["client-key-data"]),
  });
  const upstream = new URL(cluster["server"] ?? "");
  // Idle connections stay open. A client that sends a request while the server closes the connection gets a reset.
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, answer) => {
    const call = { incoming, answer, upstream, agent };
    const isRead = incoming.method === "GET";
    // A process that is killed leaves requests behind.
    (isRead ? forward(call, undefined) : forwardWrite(call, fateOf)).catch(() => answer.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const file = `${kubeconfig}-proxy`;
  const clusters = [{ name: "real", cluster: { server: `http://127.0.0.1:${port}` } }];
  writeFileSync(file, JSON.stringify({ ...config, clusters, users: [{ name: "admin", user: {} }] }), { mode: 0o600 });
  return {
    kubeconfig: file,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      agent.destroy();
    },
  };
}

interface Call {
  readonly incoming: IncomingMessage;
  readonly answer: ServerResponse;
  readonly upstream: URL;
  readonly agent: Agent;
}

async function send({ incoming, upstream, agent }: Call, body: Buffer | undefined): Promise<IncomingMessage> {
  const { host: _, connection: __, ...headers } = incoming.headers;
  const { hostname, port } = upstream;
  const sent = request({ hostname, port, path: incoming.url, method: incoming.method, headers, agent });
  incoming.once("close", () => (incoming.complete ? undefined : sent.destroy()));
  sent.end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return response;
}

async function forward(call: Call, body: Buffer | undefined): Promise<void> {
  const response = await send(call, body);
  call.answer.once("close", () => response.destroy());
  call.answer.writeHead(response.statusCode ?? 502, response.headers);
  // A watch is answered before anything happens.
  call.answer.flushHeaders();
  response.pipe(call.answer);
}

async function forwardWrite(call: Call, fateOf: FateOf): Promise<void> {
  const { incoming, answer } = call;
  const body = await buffer(incoming);
  const { pathname } = new URL(incoming.url ?? "", "http://server");
  const fate = fateOf({ method: incoming.method ?? "", path: pathname, body: parsed(body) });
  if (fate === undefined) return forward(call, body);
  if (fate === "lost") return void answer.destroy();
  if (fate.moment === "before") return fate.strike();
  const response = await send(call, body);
  const text = await buffer(response);
  if ((response.statusCode ?? 500) < 300) return fate.strike();
  fate.spare();
  answer.writeHead(response.statusCode ?? 502, response.headers);
  answer.end(text);
}

/** Protobuf and empty bodies are ignored. */
function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
