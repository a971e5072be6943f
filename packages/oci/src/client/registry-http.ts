// SPDX-License-Identifier: Apache-2.0
import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { getCACertificates } from "node:tls";
import { OciError, type OciErrorCode } from "../content/oci-error.ts";

/** One request to a registry or to the server that hands out its tokens. */
export interface RegistryRequest {
  readonly method: "GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Bytes, or something that opens them again for each attempt. */
  readonly body?: Uint8Array | (() => Readable) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The response; the caller must read or destroy the body. */
export interface RegistryResponse {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: IncomingMessage;
  /** Where the answer came from after redirects. */
  readonly url: URL;
}

/** Sends one request. Resolves with any HTTP response, rejects when there is no response. */
export type RegistrySend = (request: RegistryRequest) => Promise<RegistryResponse>;

/** What connections are made with. */
export interface RegistryHttpOptions extends Partial<RequestLimits> {
  /** Certificates to trust in addition to those that Node trusts, in PEM. */
  readonly ca?: string | undefined;
  /** The User-Agent of requests; `purlin` unless given. */
  readonly userAgent?: string | undefined;
}

/** Together with the tries that follow, well below what a pass of a controller may take. */
const limits: RequestLimits = { connectTimeoutMs: 10_000, idleTimeoutMs: 30_000 };
/** A registry may check all of an upload before it answers. */
const uploadIdleMs = 120_000;

const maxRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

/** Makes a sender that follows redirects of reads. Credentials never follow to another host. */
export function createRegistryHttp({ ca, ...rest }: RegistryHttpOptions = {}): RegistrySend {
  // An option `ca` replaces the authorities that Node trusts.
  const options = { ...rest, trusted: ca === undefined ? undefined : [...getCACertificates("default"), ca] };
  async function send(request: RegistryRequest, hops: number): Promise<RegistryResponse> {
    const response = await exchange(request, options);
    const { location } = response.headers;
    const isRead = request.method === "GET" || request.method === "HEAD";
    if (!isRead || !redirects.has(response.status) || location === undefined) return response;
    response.body.destroy();
    if (hops === 0) throw new OciError("REFUSED", `${request.url.host} redirects more than ${maxRedirects} times`);
    return send(redirected(request, new URL(location, request.url)), hops - 1);
  }
  return (request) => send(request, maxRedirects);
}

function redirected(request: RegistryRequest, url: URL): RegistryRequest {
  if (request.url.protocol === "https:" && url.protocol !== "https:") {
    throw new OciError("REFUSED", `${request.url.host} redirects from HTTPS to ${url.protocol}//${url.host}`);
  }
  if (url.origin === request.url.origin) return { ...request, url };
  const headers = Object.entries(request.headers ?? {}).filter(([name]) => name.toLowerCase() !== "authorization");
  return { ...request, url, headers: Object.fromEntries(headers) };
}

interface ExchangeOptions extends Omit<RegistryHttpOptions, "ca"> {
  readonly trusted: string[] | undefined;
}

async function exchange(
  { method, url, headers, body, signal }: RegistryRequest,
  { trusted, userAgent = "purlin", connectTimeoutMs = limits.connectTimeoutMs, idleTimeoutMs }: ExchangeOptions,
): Promise<RegistryResponse> {
  const options = { method, headers: { "user-agent": userAgent, ...headers }, ...(signal && { signal }) };
  const outgoing =
    url.protocol === "https:" ? requestHttps(url, { ...options, ca: trusted }) : requestHttp(url, options);
  const usualIdleMs = typeof body === "function" ? uploadIdleMs : limits.idleTimeoutMs;
  limitRequest(outgoing, { connectTimeoutMs, idleTimeoutMs: idleTimeoutMs ?? usualIdleMs });
  const answered = answerOf(outgoing);
  answered.catch(() => {});
  try {
    await write(outgoing, body);
  } catch (error) {
    // A server may answer and hang up before it has read everything; its answer says more than the broken pipe.
    const early = await answered.catch(() => undefined);
    if (early === undefined) throw error;
  }
  const incoming = await answered;
  return { status: incoming.statusCode ?? 0, headers: incoming.headers, body: incoming, url };
}

function answerOf(outgoing: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    outgoing.once("response", resolve);
    outgoing.once("error", reject);
    // Without a listener, neither a response nor an error would follow.
    outgoing.once("upgrade", (_response, socket) => {
      socket.destroy();
      reject(new Error("unexpected upgrade of the connection"));
    });
  });
}

async function write(outgoing: ClientRequest, body: RegistryRequest["body"]): Promise<void> {
  if (typeof body === "function") return pipeline(body(), outgoing);
  outgoing.end(body);
}

/** Reads a body that is expected to be small. */
export async function readBody(body: Readable, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      body.destroy();
      throw new OciError("TOO_LARGE", `the response is larger than ${maxBytes} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const maxErrorBytes = 64 * 1024;

const meaning: Readonly<Record<number, { readonly code: OciErrorCode; readonly advice: string }>> = {
  401: { code: "UNAUTHORIZED", advice: "check the pull secret" },
  403: { code: "UNAUTHORIZED", advice: "check what the pull secret's user may do" },
  404: { code: "NOT_FOUND", advice: "check registry, repository and tag" },
};

/** The error for an answer that is not what was asked for. */
export async function refusal(response: RegistryResponse, name: string, what: "read" | "write"): Promise<OciError> {
  const said = await reasonOf(response);
  const { code = "REFUSED", advice } = meaning[response.status] ?? {};
  const text = `cannot ${what} ${name}: ${response.url.host} answers ${response.status}${said && ` (${said})`}`;
  return new OciError(code, advice === undefined ? text : `${text}; ${advice}`);
}

/** The first of the errors a registry lists, on one line and without characters that terminals act on. */
async function reasonOf(response: RegistryResponse): Promise<string> {
  try {
    const body = JSON.parse((await readBody(response.body, maxErrorBytes)).toString("utf8")) as {
      errors?: { code?: unknown; message?: unknown }[];
    };
    const [first] = body.errors ?? [];
    const said = [first?.code, first?.message].filter((text) => typeof text === "string" && text !== "");
    return said
      .join(": ")
      .replaceAll(/[\s\p{Cc}]+/gu, " ")
      .slice(0, 300);
  } catch {
    return "";
  }
}

/** Timeouts of a request. */
interface RequestLimits {
  /** Until the connection is established, including TLS. */
  readonly connectTimeoutMs: number;
  /** Between two bytes, once connected. */
  readonly idleTimeoutMs: number;
}

/** Aborts a stalled request. The error names what it waited for; the caller adds the host. */
export function limitRequest(outgoing: ClientRequest, { connectTimeoutMs, idleTimeoutMs }: RequestLimits): void {
  let isTaken = false;
  let isConnected = false;
  const connecting = setTimeout(() => {
    const seconds = `${connectTimeoutMs / 1000}s`;
    const why = isTaken ? `TLS handshake timed out after ${seconds}` : `connection timed out after ${seconds}`;
    outgoing.destroy(timeout(why));
  }, connectTimeoutMs);
  const connected = (): void => {
    isConnected = true;
    clearTimeout(connecting);
  };
  outgoing.once("close", () => clearTimeout(connecting));
  outgoing.once("socket", (socket) => {
    if (outgoing.reusedSocket) return connected();
    socket.once("connect", () => {
      isTaken = true;
    });
    socket.once(outgoing.protocol === "https:" ? "secureConnect" : "connect", connected);
  });
  // While it connects, this is the time after which an agent drops idle connections, which means nothing here.
  outgoing.setTimeout(idleTimeoutMs, () => {
    if (isConnected) outgoing.destroy(timeout(`no response for ${idleTimeoutMs / 1000}s`));
  });
}

/** With the code of a connection error, so that an interrupted transfer is continued. */
function timeout(message: string): Error {
  return Object.assign(new Error(message), { code: "ETIMEDOUT" });
}

/** Whether a request timed out. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error as NodeJS.ErrnoException).code === "ETIMEDOUT";
}
