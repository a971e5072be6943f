// SPDX-License-Identifier: Apache-2.0

import type { IncomingMessage, ServerResponse } from "node:http";
import { constants, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { badRequest, requestEntityTooLarge, timeout } from "@purlin/kube-objects/errors";
import type { CertificateSubject } from "../auth/user.ts";
import { writeBody } from "./write-body.ts";

/** One HTTP request and the way to answer it, the same for HTTP/1.1 and HTTP/2. */
export interface Exchange {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly certificate: CertificateSubject | "rejected" | undefined;
  /** The IP address of the client. */
  readonly address?: string | undefined;
  /** Whether the request may have a body. */
  readonly hasBody: boolean;
  /** All bytes of the body; 413 when there are more than the limit. */
  readBody(limit: number): Promise<Uint8Array>;
  /** Calls back once when the client has gone, also if it has gone already. */
  onGone(callback: () => void): void;
  /** Resolves when no other response has to be sent before on the connection; undefined where the order is free. */
  readonly whenNext?: () => Promise<void>;
  /** Answers with a whole body. Resolves when the client has taken a large one, or has gone; undefined for a small one. */
  respond(code: number, headers: OutgoingHeaders, chunks: readonly Uint8Array[]): Promise<void> | undefined;
  /** Begins an answer that continues; one of code 101 has the headers given and no others. */
  begin(code: number, headers: OutgoingHeaders): Outlet;
  /** What the client sends after its request; only where the connection can switch to another protocol, as the request asks for. */
  readonly incoming?: Duplex;
}

export type OutgoingHeaders = Record<string, string | readonly string[]>;

/** The open end of an answer. */
export interface Outlet {
  /** False: the client is slow, wait to be called. */
  write(bytes: Uint8Array): boolean;
  onDrain(callback: () => void): void;
  end(): void;
  /** Ends the answer so that the client sees that it is not complete. */
  abort(): void;
}

const known = new WeakMap<TLSSocket, CertificateSubject | "rejected" | "none">();

/** The subject of the connection's client certificate, read once a connection; "rejected" when it was not issued for this server. */
function clientCertificate(socket: TLSSocket): CertificateSubject | "rejected" | undefined {
  let subject = known.get(socket);
  if (subject === undefined) {
    subject = read(socket);
    known.set(socket, subject);
  }
  return subject === "none" ? undefined : subject;
}

function read(socket: TLSSocket): CertificateSubject | "rejected" | "none" {
  const certificate = socket.getPeerX509Certificate?.();
  if (certificate === undefined) return "none";
  if (!socket.authorized) return "rejected";
  const subject: Readonly<Record<string, string | string[] | undefined>> = { ...certificate.toLegacyObject().subject };
  return {
    commonName: [subject["CN"] ?? ""].flat().at(-1) ?? "",
    organizations: [subject["O"] ?? []].flat(),
    fingerprint: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    validFrom: certificate.validFromDate.getTime(),
  };
}

/** A body that takes longer to send is refused. */
const readWithinMs = 60_000;

/** Reads a stream to its end, but no further than the limit. `declared` is its Content-Length, if it has one. */
export function readLimited(stream: Readable, limit: number, declared: string | undefined): Promise<Uint8Array> {
  if (Number(declared ?? 0) > limit) return Promise.reject(tooLarge(limit));
  // A stream that has closed emits nothing more.
  if (stream.destroyed) return Promise.reject(badRequest("the request body was cut off"));
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let isComplete = false;
    const late = setTimeout(() => reject(timeout("the request body did not arrive in time")), readWithinMs).unref();
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        // The rest is read and dropped, so that the client gets the answer instead of a reset.
        stream.removeAllListeners("data").resume();
        reject(tooLarge(limit));
        return;
      }
      chunks.push(chunk);
    });
    stream.once("end", () => {
      isComplete = true;
      clearTimeout(late);
      resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
    });
    stream.once("error", (error) => reject(badRequest(`the request body could not be read: ${error.message}`, error)));
    stream.once("close", () => {
      clearTimeout(late);
      // Every stream closes in the end; an error that is never read costs too much to create for each.
      if (!isComplete) reject(badRequest("the request body was cut off"));
    });
  });
}

const tooLarge = (limit: number): Error => requestEntityTooLarge(`limit is ${limit}`);

/** An exchange over HTTP/1.1. */
export function http1Exchange(request: IncomingMessage, response: ServerResponse): Exchange {
  const headers = request.headers as Readonly<Record<string, string | undefined>>;
  let answered = false;
  return {
    method: request.method ?? "GET",
    url: request.url ?? "/",
    headers,
    certificate: clientCertificate(request.socket as TLSSocket),
    address: request.socket.remoteAddress,
    hasBody: headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined,
    readBody: (limit) => readLimited(request, limit, headers["content-length"]),
    whenNext: () => whenNext(response),
    onGone: (callback) => {
      if (response.destroyed) {
        callback();
      } else {
        response.once("close", () => answered || callback());
      }
    },
    respond: (code, outgoing, chunks) => {
      answered = true;
      response.writeHead(code, nodeHeaders(outgoing));
      const end = (last?: Uint8Array): void => {
        if (request.complete || response.shouldKeepAlive) response.end(last);
        else endLater(request, response, last);
      };
      const taken = writeBody(response, { chunks, end, abort: () => response.destroy() });
      // An unread body must not stay in front of the next request.
      request.resume();
      return taken;
    },
    begin: (code, outgoing) => {
      response.writeHead(code, nodeHeaders(outgoing));
      response.flushHeaders();
      request.resume();
      return outlet(response);
    },
  };
}

/** Responses to pipelined requests are sent in their order: Node gives the socket to one after the other. */
function whenNext(response: ServerResponse): Promise<void> {
  if (response.socket !== null || response.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    response.once("socket", () => resolve()).once("close", resolve);
  });
}

/** How long a client that was answered may continue to send. */
const lingerMs = 2_000;

/**
 * Node ends a connection that is not kept with its last answer. A client that is still sending then is reset, and may lose the answer
 * that it has not read yet: it is left to finish what it sends, within reason.
 */
function endLater(request: IncomingMessage, response: ServerResponse, lastChunk: Uint8Array | undefined): void {
  if (lastChunk === undefined) response.flushHeaders();
  else response.write(lastChunk);
  const end = (): void => {
    clearTimeout(limit);
    if (!response.writableEnded) response.end();
  };
  const limit = setTimeout(end, lingerMs);
  request.once("end", end);
  request.once("close", end);
}

function outlet(response: ServerResponse): Outlet {
  return {
    write: (bytes) => response.write(bytes),
    onDrain: (callback) => response.on("drain", callback),
    end: () => response.end(),
    abort: () => response.destroy(),
  };
}

function nodeHeaders(headers: OutgoingHeaders): Record<string, string | string[]> {
  return headers as Record<string, string | string[]>;
}

/** An exchange over HTTP/1.1 whose request asks to switch protocols. The connection is used for nothing else afterwards. */
export function upgradeExchange(request: IncomingMessage, incoming: Duplex, head: Uint8Array): Exchange {
  // A side that has nothing more to send may still receive.
  incoming.allowHalfOpen = true;
  request.socket.allowHalfOpen = true;
  if (head.length > 0) incoming.unshift(head);
  const response = new (process.getBuiltinModule("node:http").ServerResponse)(request);
  response.shouldKeepAlive = false;
  response.assignSocket(incoming as Socket);
  // "close" follows.
  incoming.on("error", () => {});
  const ignoreEnd = destroyAtEnd(request.socket, incoming);
  response.once("finish", () => {
    ignoreEnd();
    incoming.resume();
    endSoon(request.socket, incoming);
  });
  return {
    ...http1Exchange(request, response),
    headers: tokenHeaders(request.headers as Exchange["headers"]),
    incoming,
    onGone: (callback) => {
      if (request.socket.destroyed) callback();
      else request.socket.once("close", callback);
    },
    begin: (code, outgoing) => {
      if (code !== 101) return http1Exchange(request, response).begin(code, outgoing);
      ignoreEnd();
      response.detachSocket(incoming as Socket);
      request.socket.setKeepAlive(true, keepAliveMs);
      incoming.write(`HTTP/1.1 101 Switching Protocols\r\n${headerLines(outgoing)}\r\n`, "latin1");
      return {
        write: (bytes) => incoming.write(bytes),
        onDrain: (callback) => incoming.on("drain", callback),
        end: () => endSoon(request.socket, incoming),
        abort: () => request.socket.destroy(),
      };
    },
  };
}

/** Closes the connection of a client that goes before it is answered. What it sends is left for later. */
function destroyAtEnd(socket: Socket, incoming: Duplex): () => void {
  // Without a read the end is not noticed; this one takes nothing.
  const look = (): void => void incoming.read(0);
  const end = (): void => void socket.destroy();
  incoming.on("readable", look).once("end", end);
  return () => void incoming.off("readable", look).off("end", end);
}

/** How often the system checks whether the other side of an idle connection is still there. */
export const keepAliveMs = 30_000;

/** Ends a connection after what was written; a client that does not end its side is not waited for. */
function endSoon(socket: Socket, incoming: Duplex): void {
  incoming.end();
  const limit = setTimeout(() => socket.destroy(), lingerMs);
  socket.once("close", () => clearTimeout(limit));
}

function headerLines(headers: OutgoingHeaders): string {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    [values].flat().map((value) => `${name}: ${value}`),
  );
  return lines.map((line) => `${line}\r\n`).join("");
}

const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** Browsers cannot set headers of a WebSocket: they send their token as a subprotocol, which is for this server alone. */
function tokenHeaders(headers: Exchange["headers"]): Exchange["headers"] {
  const { upgrade = "", authorization, "sec-websocket-protocol": offered = "" } = headers;
  if (upgrade.toLowerCase() !== "websocket" || authorization !== undefined) return headers;
  const protocols = offered.split(",").map((name) => name.trim());
  const token = protocols.find((name) => name.startsWith(tokenProtocol));
  const others = protocols.filter((name) => name !== token);
  // Without another protocol the backend would have to choose the token.
  if (token === undefined || others.length === 0) return headers;
  const decoded = Buffer.from(token.slice(tokenProtocol.length), "base64url").toString();
  return { ...headers, authorization: `Bearer ${decoded}`, "sec-websocket-protocol": others.join(", ") };
}

/** An exchange over HTTP/2. */
export function http2Exchange(stream: ServerHttp2Stream, incoming: IncomingHttpHeaders): Exchange {
  const headers = incoming as Readonly<Record<string, string | undefined>>;
  const socket = stream.session?.socket as TLSSocket | undefined;
  // Every stream of a client that vanishes reports it; "close" follows, and is where it is dealt with.
  stream.on("error", () => {});
  // Not derived from the stream itself: after a cancel it looks finished.
  let answered = false;
  return {
    method: headers[":method"] ?? "GET",
    url: headers[":path"] ?? "/",
    headers,
    certificate: socket === undefined ? undefined : clientCertificate(socket),
    address: socket?.remoteAddress,
    hasBody: !stream.endAfterHeaders,
    readBody: (limit) => readLimited(stream, limit, headers["content-length"]),
    onGone: (callback) => {
      if (stream.destroyed) {
        callback();
      } else {
        stream.once("close", () => answered || callback());
      }
    },
    respond: (code, outgoing, chunks) => {
      answered = true;
      if (!begin(stream, { code, headers: outgoing, endStream: chunks.length === 0 })) return undefined;
      const abort = (): void => stream.close(constants.NGHTTP2_CANCEL);
      const taken = writeBody(stream, { chunks, end: (last) => stream.end(last), abort });
      refuseRest(stream);
      return taken;
    },
    begin: (code, outgoing) => {
      begin(stream, { code, headers: outgoing, endStream: false });
      stream.resume();
      return streamOutlet(stream);
    },
  };
}

function begin(
  stream: ServerHttp2Stream,
  {
    code,
    headers,
    endStream,
  }: { readonly code: number; readonly headers: OutgoingHeaders; readonly endStream: boolean },
): boolean {
  if (stream.destroyed || stream.headersSent) return false;
  stream.respond({ ":status": code, ...headers } as Record<string, string | number | string[]>, { endStream });
  return !endStream;
}

// The response is complete although the request is not: ask the client to stop sending, without an error.
function refuseRest(stream: ServerHttp2Stream): void {
  if (stream.readableEnded || stream.endAfterHeaders) return;
  stream.once("finish", () => stream.close(constants.NGHTTP2_NO_ERROR));
  stream.resume();
}

function streamOutlet(stream: ServerHttp2Stream): Outlet {
  return {
    write: (bytes) => stream.write(bytes),
    onDrain: (callback) => stream.on("drain", callback),
    end: () => stream.end(),
    abort: () => stream.close(constants.NGHTTP2_INTERNAL_ERROR),
  };
}
