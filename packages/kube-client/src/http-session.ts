// SPDX-License-Identifier: Apache-2.0

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Readable } from "node:stream";
import { connect as connectTls, type SecureContextOptions, type TLSSocket } from "node:tls";

/** A request as it goes on the wire. */
interface WireRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** An answer whose body has not been read yet. */
export interface WireResponse {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: Readable;
}

/** A way to send requests to one server: HTTP/2 where the server supports it, HTTP/1.1 with kept connections otherwise. */
export interface HttpSession {
  send(request: WireRequest): Promise<WireResponse>;
  close(): void;
}

/** What TLS needs to know. */
export interface TlsOptions extends SecureContextOptions {
  readonly servername?: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** How to find out that a server has vanished without a word: its machine is off, or the network between forgot the connection. */
interface Liveness {
  /** Asked so often whether it is still there. */
  readonly pingEveryMs: number;
  /** Given up when it has not answered by then. */
  readonly pingWithinMs: number;
}

/** What Go clients do. */
const defaultLiveness: Liveness = { pingEveryMs: 30_000, pingWithinMs: 15_000 };

/** Streams per connection before another connection is opened, unless the server announces its own limit. */
const defaultStreamLimit = 100;

/**
 * Megabytes of what is on its way that one connection may hold. With Node's ten, a few large objects at once would make it
 * refuse the requests of other clients.
 */
const maxSessionMemory = 512;

/** Opens a session to `origin`. Connections are made when first needed and again when lost. */
export function openSession(origin: URL, tls: TlsOptions, liveness: Liveness = defaultLiveness): HttpSession {
  // HTTP/1.1 has no pings of its own; those of TCP find out as much, later.
  const kept = { keepAlive: true, keepAliveMsecs: liveness.pingEveryMs };
  if (origin.protocol === "http:") return createHttp1Session(origin, new HttpAgent(kept));
  let chosen: Promise<HttpSession> | undefined;
  const choose = async (): Promise<HttpSession> => {
    const socket = await openTls(origin, tls);
    if (socket.alpnProtocol === "h2") return createHttp2Session(origin, { tls, liveness }, socket);
    socket.destroy();
    return createHttp1Session(origin, new HttpsAgent({ ...tlsFor(origin, tls), ...kept }));
  };
  return {
    async send(request) {
      chosen ??= choose();
      // A server that could not be reached is tried again by the next request.
      const session = await chosen.catch((error: unknown) => {
        chosen = undefined;
        throw error;
      });
      return session.send(request);
    },
    close() {
      chosen?.then((session) => session.close()).catch(() => {});
    },
  };
}

function tlsFor(origin: URL, tls: TlsOptions): TlsOptions & { readonly host: string; readonly port: number } {
  const host = origin.hostname.replace(/^\[|\]$/g, "");
  return { ...tls, host, port: Number(origin.port || 443) };
}

function openTls(origin: URL, tls: TlsOptions): Promise<TLSSocket> {
  const { promise, resolve, reject } = Promise.withResolvers<TLSSocket>();
  const { servername, ...options } = tlsFor(origin, tls);
  // Node refuses an IP address as server name; without one the certificate is checked against the host all the same.
  const name = servername ?? (/^[\d.]+$|:/.test(options.host) ? undefined : options.host);
  const socket = connectTls({ ...options, ...(name && { servername: name }), ALPNProtocols: ["h2", "http/1.1"] });
  socket.once("secureConnect", () => {
    socket.off("error", reject);
    resolve(socket);
  });
  socket.once("error", reject);
  return promise;
}

function createHttp2Session(
  origin: URL,
  { tls, liveness }: { readonly tls: TlsOptions; readonly liveness: Liveness },
  first: TLSSocket,
): HttpSession {
  const open = new Set<ClientHttp2Session>();
  const streams = new WeakMap<ClientHttp2Session, number>();
  let connecting: Promise<ClientHttp2Session> | undefined;

  function start(socket: TLSSocket): ClientHttp2Session {
    const session = connectHttp2(origin.origin, { createConnection: () => socket, maxSessionMemory });
    // An idle connection must not keep the process alive, and one that breaks is simply not used again.
    session.on("error", () => open.delete(session));
    session.on("close", () => open.delete(session));
    session.on("goaway", () => open.delete(session));
    watchOver(session, liveness);
    streams.set(session, 0);
    open.add(session);
    return session;
  }
  start(first);

  function available(): ClientHttp2Session | undefined {
    for (const session of open) {
      const limit = Math.min(session.remoteSettings?.maxConcurrentStreams ?? defaultStreamLimit, 1000);
      if (!session.closed && !session.destroyed && (streams.get(session) ?? 0) < limit) return session;
    }
    return undefined;
  }

  async function session(): Promise<ClientHttp2Session> {
    const free = available();
    if (free !== undefined) return free;
    connecting ??= openTls(origin, tls)
      .then(start)
      .finally(() => {
        connecting = undefined;
      });
    await connecting;
    return session();
  }

  return {
    async send(request) {
      const chosen = await session();
      streams.set(chosen, (streams.get(chosen) ?? 0) + 1);
      const stream = chosen.request(http2Headers(request), {
        endStream: request.body === undefined,
        ...(request.signal && { signal: request.signal }),
      });
      stream.once("close", () => streams.set(chosen, (streams.get(chosen) ?? 1) - 1));
      if (request.body !== undefined) stream.end(request.body);
      return http2Response(stream);
    },
    close() {
      for (const one of open) one.destroy();
    },
  };
}

/** Ends a connection whose other end no longer responds, so that its requests can be sent elsewhere. */
function watchOver(session: ClientHttp2Session, { pingEveryMs, pingWithinMs }: Liveness): void {
  const asking = setInterval(() => {
    // It ends a moment before it says so.
    if (session.destroyed) return;
    const late = setTimeout(() => {
      session.destroy(new Error(`the server has not answered a ping for ${pingWithinMs / 1000} s`));
    }, pingWithinMs).unref();
    if (!session.ping(() => clearTimeout(late))) clearTimeout(late);
  }, pingEveryMs).unref();
  session.once("close", () => clearInterval(asking));
}

function http2Headers({ method, path, headers }: WireRequest): OutgoingHttpHeaders {
  return { [constants.HTTP2_HEADER_METHOD]: method, [constants.HTTP2_HEADER_PATH]: path, ...headers };
}

function http2Response(stream: ClientHttp2Stream): Promise<WireResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
  stream.once("response", (headers) => {
    stream.off("error", reject);
    resolve({ code: headers[":status"] ?? 0, headers, body: stream });
  });
  stream.once("error", reject);
  // A stream that is aborted after its response began and before it is read has no other way to report the error.
  stream.on("error", () => {});
  stream.once("close", () => reject(new Error("the server closed the connection before it answered")));
  return promise;
}

function createHttp1Session(origin: URL, agent: HttpAgent | HttpsAgent): HttpSession {
  const request = origin.protocol === "http:" ? httpRequest : httpsRequest;
  return {
    send({ method, path, headers, body, signal }) {
      const { promise, resolve, reject } = Promise.withResolvers<WireResponse>();
      const length = body === undefined ? {} : { "content-length": String(Buffer.byteLength(body)) };
      const outgoing = request(
        {
          agent,
          host: origin.hostname.replace(/^\[|\]$/g, ""),
          port: origin.port || undefined,
          method,
          path,
          headers: { ...headers, ...length },
          signal,
        },
        (incoming: IncomingMessage) =>
          resolve({ code: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming }),
      );
      outgoing.once("error", reject);
      // Without a listener, neither a response nor an error would follow.
      outgoing.once("upgrade", (_response, socket) => {
        socket.destroy();
        reject(new Error("unexpected upgrade of the connection"));
      });
      outgoing.end(body);
      return promise;
    },
    close() {
      agent.destroy();
    },
  };
}
