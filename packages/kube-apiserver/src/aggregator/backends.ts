// SPDX-License-Identifier: Apache-2.0
// Connections to other API servers, with the certificate by which they recognize this one.
import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type Agent, request as httpsRequest, type RequestOptions } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { KeyPair } from "@purlin/certificates";
import { type VerifiedRequestOptions, VerifyingAgent } from "@purlin/certificates/peer";
import type { User } from "../auth/user.ts";
import { keepAliveMs } from "../http/exchange.ts";
import type { ResolveService, ServiceAddress } from "../webhooks/webhook-client.ts";
import type { RemoteApi } from "./api-service.ts";

/** The certificates that an APIService names cannot be read. */
export class TransportError extends Error {}

/** A request to a backend. */
interface BackendRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Uint8Array | undefined;
  readonly signal: AbortSignal;
}

/** A response to a request to switch protocols, with the connection if the backend has done so. */
interface UpgradeAnswer {
  readonly response: IncomingMessage;
  readonly connection?: Duplex;
}

/** A request was not sent: there is no connection to the backend. */
export class DialError extends Error {}

/** A response of a backend that was read whole. */
export interface BackendAnswer {
  readonly code: number;
  readonly contentType: string;
  readonly etag: string;
  readonly body: Buffer;
}

const pemBlock = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/;

/** Larger documents of discovery and OpenAPI are refused: parsing them would hold the server. */
const maxDocumentBytes = 3 * 1024 * 1024;

/** An address as it is in a URL. */
export function hostOf({ host, port }: ServiceAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** Reaches the backends of APIServices. Connections are kept for reads. */
export class Backends {
  readonly #resolve: ResolveService;
  readonly #certificate: () => KeyPair;
  readonly #kept = new VerifyingAgent({ keepAlive: true, maxFreeSockets: 8, scheduling: "lifo" });
  /** A connection for each request. */
  readonly #single = new VerifyingAgent();
  /** Connections that have switched to another protocol. */
  readonly #switched = new Set<Duplex>();

  constructor(resolve: ResolveService, certificate: () => KeyPair) {
    this.#resolve = resolve;
    this.#certificate = certificate;
  }

  /** The address of the backend. Fails with an Error with the text of the reference when there is none. */
  async address(remote: RemoteApi): Promise<ServiceAddress> {
    return await this.#resolve(remote.service);
  }

  /** Throws a {@link TransportError} when the certificates of the APIService cannot be read. */
  checkTransport({ caBundle }: RemoteApi): void {
    if (caBundle !== "") authorities(caBundle);
  }

  /** Sends a request; resolves with the headers of the response. */
  async send(remote: RemoteApi, request: BackendRequest): Promise<IncomingMessage> {
    const isRead = request.method === "GET" || request.method === "HEAD";
    try {
      return await exchange(await this.#options(remote, request, isRead ? this.#kept : this.#single), request.body);
    } catch (error) {
      // A kept connection may have been closed by the backend in the meantime.
      if (!isRead || !(error instanceof ReusedConnectionError)) throw causeOf(error);
      return exchange(await this.#options(remote, request, this.#single), request.body).catch((again: unknown) => {
        throw causeOf(again);
      });
    }
  }

  /** Reads a document of a backend, in a few seconds and within a limit of bytes. */
  async read(remote: RemoteApi, request: Omit<BackendRequest, "method">): Promise<BackendAnswer> {
    const response = await this.send(remote, { ...request, method: "GET" });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > maxDocumentBytes) {
        response.destroy();
        throw new Error(`the response has more than ${maxDocumentBytes} bytes`);
      }
      chunks.push(chunk);
    }
    const { "content-type": contentType = "", etag = "" } = response.headers;
    return { code: response.statusCode ?? 0, contentType, etag, body: Buffer.concat(chunks) };
  }

  /** Asks a backend to switch protocols, on a connection of its own. */
  async upgrade(remote: RemoteApi, request: BackendRequest): Promise<UpgradeAnswer> {
    const answer = await switchProtocols(await this.#options(remote, request, this.#single), request.body);
    const { connection } = answer;
    if (connection !== undefined) {
      this.#switched.add(connection);
      connection.once("close", () => this.#switched.delete(connection));
    }
    return answer;
  }

  close(): void {
    this.#kept.destroy();
    this.#single.destroy();
    for (const connection of this.#switched) connection.destroy();
  }

  async #options(remote: RemoteApi, request: BackendRequest, agent: Agent): Promise<VerifiedRequestOptions> {
    const { host, port } = await this.address(remote);
    const { certPem, keyPem } = this.#certificate();
    const { namespace, name } = remote.service;
    return {
      ...{ host, port, agent, method: request.method, path: request.path },
      ...{ signal: request.signal, handshakeSignal: request.signal },
      headers: { ...request.headers, host: hostOf({ host, port }) } as Record<string, string | string[]>,
      ...{ cert: certPem, key: keyPem, servername: `${name}.${namespace}.svc` },
      ...(remote.caBundle !== "" && { ca: authorities(remote.caBundle), allowPartialTrustChain: true }),
      rejectUnauthorized: !remote.skipsVerification,
    };
  }
}

class ReusedConnectionError extends Error {}

function causeOf(error: unknown): unknown {
  return error instanceof ReusedConnectionError ? error.cause : error;
}

function authorities(bundle: string): string {
  const pem = Buffer.from(bundle, "base64").toString();
  if (pemBlock.test(pem)) return pem;
  throw new TransportError("unable to load root certificates: unable to parse bytes as PEM block");
}

function exchange(options: RequestOptions, body: Uint8Array | undefined): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = httpsRequest(options, (response) => {
    // Each reader of the response has its own listener; without any, an error would end the process.
    response.on("error", () => {});
    resolve(response);
  });
  request.on("error", (error: NodeJS.ErrnoException) =>
    reject(
      request.reusedSocket && error.code === "ECONNRESET" ? new ReusedConnectionError("", { cause: error }) : error,
    ),
  );
  // A backend that switches protocols would otherwise leave the promise open.
  request.on("upgrade", (_response, socket) => {
    socket.destroy();
    reject(new Error("unexpected upgrade of the connection"));
  });
  request.end(body);
  return promise;
}

function switchProtocols(options: RequestOptions, body: Uint8Array | undefined): Promise<UpgradeAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<UpgradeAnswer>();
  const request = httpsRequest(options, (response) => {
    response.on("error", () => {});
    resolve({ response });
  });
  let isSent = false;
  request.once("finish", () => {
    isSent = true;
  });
  request.on("upgrade", (response, connection, head) => {
    connection.on("error", () => {});
    // A side that has nothing more to send may still receive.
    connection.allowHalfOpen = true;
    (connection as Socket).setKeepAlive(true, keepAliveMs);
    if (head.length > 0) connection.unshift(head);
    resolve({ response, connection });
  });
  request.on("error", (error) => reject(isSent ? error : new DialError(error.message, { cause: error })));
  request.end(body);
  return promise;
}

/** The headers by which a backend knows the user of a request. They replace all that a client sent under these names. */
export function userHeaders({ name, uid, groups, extra = {} }: User): Record<string, string | readonly string[]> {
  return {
    "x-remote-user": headerText(name),
    ...(uid === undefined || uid === "" ? {} : { "x-remote-uid": headerText(uid) }),
    "x-remote-group": groups.map(headerText),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`x-remote-extra-${headerKey(key)}`, values.map(headerText)]),
    ),
  };
}

/** Headers are bytes, and Node writes one byte for each character. Line breaks would end the header. */
function headerText(text: string): string {
  return Buffer.from(text.replaceAll(/\p{Cc}/gu, " "), "utf8").toString("latin1");
}

function headerKey(key: string): string {
  return [...Buffer.from(key.toLowerCase(), "utf8")]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[-!#$&'*+.^_`|~0-9a-z]/.test(character) ? character : `%${byte.toString(16).padStart(2, "0")}`;
    })
    .join("");
}
