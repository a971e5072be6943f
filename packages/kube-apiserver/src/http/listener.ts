// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import type { Server as Http1Server } from "node:http";
import {
  createServer as createHttp2Server,
  type Http2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { createServer as createTlsServer, type TLSSocket, type Server as TlsServer } from "node:tls";
import { type Exchange, http1Exchange, http2Exchange, upgradeExchange } from "./exchange.ts";

// Not by import: that would evaluate every export of node:http, and one of them loads a whole HTTP client, a tenth of the time to
// the first answer.
const { createServer: createHttp1Server } = process.getBuiltinModule("node:http");

interface ListenerOptions {
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  readonly certPem: string;
  readonly keyPem: string;
  /** Client certificates are verified against this. */
  readonly clientAuthorityPem: string;
  readonly onExchange: (exchange: Exchange) => void;
  /** Whether requests for a URL may switch the connection to another protocol. Default: none may, and they are answered without. */
  readonly isUpgradable?: (url: string) => boolean;
  readonly patience?: Partial<Patience>;
}

/** How long clients may take before they have said anything that could be answered. */
export interface Patience {
  /** For the TLS handshake. */
  readonly handshakeMs: number;
  /** For the headers of an HTTP/1.1 request, from its first byte, or from the connection. */
  readonly headersMs: number;
  /** For a whole HTTP/1.1 request, body included. */
  readonly requestMs: number;
  /** For the next request on a connection; Go clients keep idle ones for 90 s and do not retry a POST on one that was just closed. */
  readonly idleMs: number;
}

/** As much as the reference gives. */
const defaultPatience: Patience = { handshakeMs: 30_000, headersMs: 32_000, requestMs: 70_000, idleMs: 120_000 };

export interface Listener {
  readonly host: string;
  readonly port: number;
  /** Serves new connections with another certificate, and verifies those of clients against another authority. */
  renew(pair: Pick<ListenerOptions, "certPem" | "keyPem" | "clientAuthorityPem">): void;
  /** Takes no more connections, waits for answers under way up to `graceMs`, then drops what is left. */
  close(graceMs: number): Promise<void>;
}

const kib = 1024;
const sweepMs = 50;

/** Serves HTTP/1.1 and HTTP/2 over TLS on one port. */
export async function listen(options: ListenerOptions): Promise<Listener> {
  const patience = { ...defaultPatience, ...options.patience };
  const http1 = http1Server(options, patience);
  const http2 = http2Server(options.onExchange, patience);
  const sockets = new Set<Socket>();
  const keep = (socket: Socket): void => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  };
  const server = tlsServer({ ...options, handshakeTimeout: patience.handshakeMs }, (socket) => {
    keep(socket);
    if (socket.alpnProtocol === "h2") {
      http2.server.emit("connection", socket);
    } else {
      http1.emit("connection", socket);
      readInJavaScript(socket);
    }
  });
  // A connection that never completes the handshake must be closed too.
  server.on("connection", keep);
  server.listen(options.port ?? 0, options.host ?? "127.0.0.1");
  await once(server, "listening");
  const { address, port } = server.address() as AddressInfo;
  return {
    host: address,
    port,
    renew: (pair) => server.setSecureContext(secureContext({ ...options, ...pair })),
    close: (graceMs) => close({ server, http1, sessions: http2.sessions, sockets }, graceMs),
  };
}

/**
 * Makes Node's HTTP/1.1 parser read the socket through its stream instead of below it. Below, a pause comes too late for what TLS has
 * decrypted already: the parser then fails with HPE_PAUSED when a large request follows a large answer.
 */
function readInJavaScript(socket: TLSSocket): void {
  socket.on("data", ignore);
}

const ignore = (): void => {};

function secureContext(options: ListenerOptions): { cert: string; key: string; ca: string; minVersion: "TLSv1.2" } {
  return { cert: options.certPem, key: options.keyPem, ca: options.clientAuthorityPem, minVersion: "TLSv1.2" };
}

function tlsServer(
  options: ListenerOptions & { readonly handshakeTimeout: number },
  onSocket: (socket: TLSSocket) => void,
): TlsServer {
  const server = createTlsServer({
    ...secureContext(options),
    ALPNProtocols: ["h2", "http/1.1"],
    requestCert: true,
    // A certificate of another authority is answered with 401, not with a failed handshake.
    rejectUnauthorized: false,
    noDelay: true,
    handshakeTimeout: options.handshakeTimeout,
  });
  server.on("secureConnection", onSocket);
  // A failed handshake concerns only the client, which sees it.
  server.on("tlsClientError", (_error, socket) => socket.destroy());
  return server;
}

function http1Server({ onExchange, isUpgradable }: ListenerOptions, patience: Patience): Http1Server {
  const { headersMs, requestMs, idleMs } = patience;
  const server = createHttp1Server({
    keepAliveTimeout: idleMs,
    headersTimeout: headersMs,
    requestTimeout: Math.max(headersMs, requestMs),
    connectionsCheckingInterval: Math.min(headersMs, 10_000),
    maxHeaderSize: 64 * kib,
    shouldUpgradeCallback: ({ url = "/" }) => isUpgradable?.(url) ?? false,
  });
  server.on("upgrade", (request, socket, head) => {
    // From here on what arrives is for the reader of the socket. With the body of the request under way, Node reads on below it.
    if (socket === request.socket) socket.off("data", ignore);
    onExchange(upgradeExchange(request, socket, head));
  });
  // It never listens itself, and without this event it neither notices slow clients nor knows which connections are idle.
  server.emit("listening");
  server.on("request", (request, response) => onExchange(http1Exchange(request, response)));
  server.on("checkContinue", (request, response) => {
    response.writeContinue();
    onExchange(http1Exchange(request, response));
  });
  server.on("clientError", (_error, socket) => socket.destroy());
  return server;
}

function http2Server(
  onExchange: (exchange: Exchange) => void,
  { idleMs }: Patience,
): {
  readonly server: Http2Server;
  readonly sessions: Set<ServerHttp2Session>;
} {
  // One Go process puts all its watches on one connection.
  const settings = { maxConcurrentStreams: 2000, initialWindowSize: 512 * kib, maxHeaderListSize: 64 * kib };
  const server = createHttp2Server({ settings, maxSessionMemory: 512 });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(8 * kib * kib);
    session.once("close", () => sessions.delete(session));
    // The client disconnected or violated the protocol; its streams are closed and notified.
    session.on("error", () => {});
    dropWhenIdle(session, idleMs);
  });
  server.on("stream", (stream, headers) => onExchange(http2Exchange(stream as ServerHttp2Stream, headers)));
  return { server, sessions };
}

/** Closes a connection without traffic and without a pending request; a watch is pending. */
function dropWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let open = 0;
  session.on("stream", (stream) => {
    open += 1;
    stream.once("close", () => {
      open -= 1;
    });
  });
  session.setTimeout(idleMs, () => {
    if (open === 0) session.destroy();
  });
}

interface OpenSockets {
  readonly server: TlsServer;
  readonly http1: Http1Server;
  readonly sessions: ReadonlySet<ServerHttp2Session>;
  readonly sockets: ReadonlySet<Socket>;
}

async function close({ server, http1, sessions, sockets }: OpenSockets, graceMs: number): Promise<void> {
  const closed = once(server, "close");
  server.close();
  for (const session of sessions) {
    session.close();
  }
  // A connection is idle from its last answer on, so this is asked again and again.
  const sweeping = setInterval(() => http1.closeIdleConnections(), sweepMs);
  http1.close();
  const dropping = setTimeout(() => {
    for (const socket of sockets) {
      socket.destroy();
    }
  }, graceMs);
  await closed;
  clearTimeout(dropping);
  clearInterval(sweeping);
}
