// SPDX-License-Identifier: Apache-2.0

import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import {
  checkServerIdentity,
  connect as connectTls,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from "node:tls";
import { guardFrames } from "@purlin/function-runner";

/** How long one question may take, and how long to wait before the next: what starts fast is found fast. */
const attemptMs = 5_000;
const firstPauseMs = 3;
const longestPauseMs = 25;

/** Where to ask, and for how long. */
interface ProbeOptions {
  /** `host:port` on this machine, or `unix:path`. */
  readonly address: string;
  readonly tls: SecureContext;
  /** The common name of its certificate; any unless given. */
  readonly commonName?: string | undefined;
  readonly signal: AbortSignal;
}

/**
 * Resolves once the function at an address answers gRPC calls: its health check says that it serves, or it has none and
 * says so. Rejects only when the signal aborts.
 */
export async function untilItAnswers({ signal, ...probe }: ProbeOptions): Promise<void> {
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.2, longestPauseMs)) {
    signal.throwIfAborted();
    if (await answers({ ...probe, signal: AbortSignal.any([signal, AbortSignal.timeout(attemptMs)]) })) return;
    // An abort ends the pause, and the loop with it.
    await delay(pauseMs, undefined, { signal }).catch(() => {});
  }
}

function dial({ address, tls, commonName }: ProbeOptions): TLSSocket {
  const secure = {
    secureContext: tls,
    servername: "localhost",
    ALPNProtocols: ["h2"],
    // Another function may have taken the port.
    checkServerIdentity(host: string, certificate: PeerCertificate): Error | undefined {
      const isOther = commonName !== undefined && certificate.subject.CN !== commonName;
      return isOther ? new Error(`the certificate is not for ${commonName}`) : checkServerIdentity(host, certificate);
    },
  };
  if (address.startsWith("unix:")) return connectTls({ ...secure, path: address.slice("unix:".length) });
  const [host, port] = address.split(":");
  return connectTls({ ...secure, host, port: Number(port) });
}

/** Asks once. Connections that fail are what "not yet" looks like. */
export async function answers(probe: ProbeOptions): Promise<boolean> {
  const { signal } = probe;
  const socket = dial(probe);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const giveUp = (): void => resolve(false);
  socket.on("error", giveUp).on("close", giveUp);
  socket.once("secureConnect", () => {
    const session = connect("https://localhost", { createConnection: () => guardFrames(socket) });
    session.on("error", giveUp).on("close", giveUp);
    ask(session).then(resolve, giveUp);
  });
  signal.addEventListener("abort", giveUp, { once: true });
  try {
    return await promise;
  } finally {
    signal.removeEventListener("abort", giveUp);
    // The session ends with it. On its own it would wait until the function has read what was sent.
    socket.destroy();
  }
}

/** An empty HealthCheckRequest, framed: not compressed, no bytes. */
const emptyMessage = Buffer.alloc(5);
/** A HealthCheckResponse with status SERVING, framed. */
const serving = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
const unimplemented = "12";
/** Far more than any HealthCheckResponse has. */
const mostAnswerBytes = 1_024;

async function ask(session: ClientHttp2Session): Promise<boolean> {
  const stream = session.request({
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.end(emptyMessage);
  const { status, body } = await readAnswer(stream);
  return status === "0" ? body.equals(serving) : status === unimplemented;
}

async function readAnswer(stream: ClientHttp2Stream): Promise<{ status: string | undefined; body: Buffer }> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let status: string | undefined;
  const chunks: Buffer[] = [];
  // An answer without a message has its status in the headers, any other in the trailers.
  const read = (headers: Readonly<Record<string, unknown>>): void => {
    const value = headers["grpc-status"];
    if (value !== undefined) status = String(value);
  };
  stream.on("response", read).on("trailers", read);
  let bytes = 0;
  stream.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > mostAnswerBytes) reject(new Error(`the answer has more than ${mostAnswerBytes} bytes`));
    else chunks.push(chunk);
  });
  stream.on("error", reject).on("close", () => resolve());
  await promise;
  return { status, body: Buffer.concat(chunks) };
}

/** Ports of functions that were handed out and not given back. */
export interface PortPool {
  /** A free port of the loopback interface: the wanted one, if it is free. */
  take(wanted?: number): Promise<number>;
  giveBack(port: number): void;
}

/**
 * Finds free ports. Another program may take a port before the function listens on it; the function then ends and is
 * started again on another port. No port is handed out twice at a time. A wanted port is the published endpoint of a
 * function that is started again: other functions never get it, as callers would reach them in its place.
 */
export function createPortPool(find: (wanted: number) => Promise<number | undefined> = findFreePort): PortPool {
  const taken = new Set<number>();
  const published = new Set<number>();
  return {
    async take(wanted = 0) {
      if (wanted !== 0) published.add(wanted);
      for (let wish = wanted; ; wish = 0) {
        const port = await find(wish);
        const isOthers = port !== wanted && published.has(port ?? 0);
        if (port === undefined || taken.has(port) || isOthers) continue;
        taken.add(port);
        return port;
      }
    },
    giveBack: (port) => void taken.delete(port),
  };
}

/** The port that is asked for, if it is free; any free one for 0. */
async function findFreePort(wanted: number): Promise<number | undefined> {
  const server = createServer().listen({ host: "127.0.0.1", port: wanted });
  try {
    await once(server, "listening");
  } catch (error) {
    if (wanted === 0) throw error;
    return undefined;
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
