// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { requestEntityTooLarge, type Status, StatusError } from "@purlin/kube-objects/errors";
import { type JsonValue, parseJson, printJson } from "@purlin/kube-objects/json";
import type { ClusterAccess, Credentials } from "./cluster-access.ts";
import { type HttpSession, openSession, type TlsOptions, type WireResponse } from "./http-session.ts";
import type { KubeRequest, KubeResponse, KubeTransport } from "./transport.ts";

/** Options of {@link createHttpsTransport}. */
export interface HttpsTransportOptions {
  /** The user agent, for the server's logs and as the default field manager. */
  readonly userAgent?: string;
}

/** No API server takes more in one request; Kubernetes has no setting for it. */
const maxBodyBytes = 3 * 2 ** 20;

/** How often a request is sent again that the server asks to send later; as often as client-go does it. */
const maxRetries = 10;
/** A server that asks for more patience is reported as it answered. */
const maxRetryAfterSeconds = 30;

/** The way to an API server over HTTPS. Connections are opened when needed; new client certificates open new ones. */
export function createHttpsTransport(
  access: ClusterAccess,
  { userAgent = "purlin" }: HttpsTransportOptions = {},
): KubeTransport {
  const base = new URL(access.server);
  const prefix = base.pathname.replace(/\/$/, "");
  let session: { readonly identity: string; readonly http: HttpSession } | undefined;
  let isClosed = false;

  function sessionFor({ certPem, keyPem }: Credentials): HttpSession {
    const identity = `${certPem ?? ""}\n${keyPem ?? ""}`;
    if (session?.identity === identity) return session.http;
    const http = openSession(base, tlsOptionsOf(access, { certPem, keyPem }));
    session = { identity, http };
    return http;
  }

  async function sendOnce(request: KubeRequest): Promise<WireResponse> {
    const credentials = await access.credentials.current();
    // Otherwise a closed client would open a connection that is never closed.
    if (isClosed) throw new Error("the client was closed");
    const query = new URLSearchParams(request.query).toString();
    return sessionFor(credentials).send({
      method: request.method,
      path: `${prefix}${request.path}${query && `?${query}`}`,
      headers: headersOf(request, credentials, userAgent),
      body: request.body === undefined ? undefined : bodyText(request.body),
      signal: request.signal,
    });
  }

  /** A request that the server did not take, as it is busy or its storage is not ready, is sent again when the server says. */
  async function send(request: KubeRequest): Promise<WireResponse> {
    for (let retries = 0; ; retries++) {
      const response = await sendAuthorized(request);
      const seconds = retryAfterSeconds(response);
      if (seconds === undefined || retries === maxRetries) return response;
      response.body.resume();
      await delay(seconds * 1000, undefined, { signal: request.signal });
    }
  }

  /** A refused token may have expired on the way; one more try with fresh credentials decides. */
  async function sendAuthorized(request: KubeRequest): Promise<WireResponse> {
    const response = await sendOnce(request);
    if (response.code !== 401 || access.credentials.refused === undefined) return response;
    response.body.resume();
    access.credentials.refused();
    return sendOnce(request);
  }

  return {
    async request(request) {
      const response = await send(request);
      return toKubeResponse(response, await readBody(response.body));
    },
    async stream(request) {
      const response = await send(request);
      if (response.code >= 300) toKubeResponse(response, await readBody(response.body));
      return readLines(response.body, request.signal);
    },
    async close() {
      isClosed = true;
      session?.http.close();
      session = undefined;
    },
  };
}

/** What is too large is refused here, in the server's words, instead of holding up a connection that others share. */
function bodyText(body: JsonValue): string {
  const text = printJson(body);
  if (Buffer.byteLength(text) > maxBodyBytes) throw requestEntityTooLarge(`limit is ${maxBodyBytes}`);
  return text;
}

/** What TLS needs to know for connections to an API server. */
export function tlsOptionsOf(
  { caPem, tlsServerName, insecureSkipTlsVerify }: ClusterAccess,
  { certPem, keyPem }: Credentials,
): TlsOptions {
  return {
    ca: caPem,
    cert: certPem,
    key: keyPem,
    servername: tlsServerName,
    rejectUnauthorized: insecureSkipTlsVerify !== true,
  };
}

/** The headers of a request: what is sent, what is accepted, and who is calling. */
export function headersOf(
  request: Pick<KubeRequest, "accept" | "body" | "contentType">,
  credentials: Credentials,
  userAgent: string,
): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = {
    accept: request.accept ?? "application/json",
    "user-agent": userAgent,
  };
  if (request.body !== undefined) headers["content-type"] = request.contentType ?? "application/json";
  if (credentials.bearerToken) headers["authorization"] = `Bearer ${credentials.bearerToken}`;
  else if (credentials.basic) {
    const { username, password } = credentials.basic;
    headers["authorization"] = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
  }
  if (credentials.impersonate) {
    headers["impersonate-user"] = credentials.impersonate.user;
    if (credentials.impersonate.groups.length > 0) headers["impersonate-group"] = [...credentials.impersonate.groups];
  }
  return headers;
}

/** How long the server asks to wait; undefined where the answer is final. */
function retryAfterSeconds({ code, headers }: WireResponse): number | undefined {
  if (code !== 429 && code < 500) return undefined;
  const text = headers["retry-after"];
  const seconds = typeof text === "string" && /^\d+$/.test(text) ? Number(text) : undefined;
  return seconds !== undefined && seconds <= maxRetryAfterSeconds ? seconds : undefined;
}

async function readBody(body: Readable): Promise<string> {
  body.setEncoding("utf8");
  let text = "";
  for await (const chunk of body) text += chunk;
  return text;
}

function toKubeResponse({ code, headers }: WireResponse, text: string): KubeResponse {
  const body = parseBody(text, headers["content-type"]);
  if (code >= 200 && code < 300) return { code, body, warnings: parseWarnings(headers["warning"]) };
  throw asStatusError(code, body, text);
}

function parseBody(text: string, contentType: unknown): JsonValue {
  if (text === "") return null;
  if (!String(contentType ?? "").includes("json")) return text;
  return parseJson(text);
}

/** The error of a response whose body may be cut. */
export function statusErrorOf(code: number, text: string): StatusError {
  let body: JsonValue = null;
  try {
    body = parseJson(text);
  } catch {
    // The text itself is the message then.
  }
  return asStatusError(code, body, text);
}

/** A proxy in between may answer with something that is not a Status; its text is kept, cut to what a line can hold. */
function asStatusError(code: number, body: JsonValue, text: string): StatusError {
  const status = body as Partial<Status> | null;
  if (status?.kind === "Status") return new StatusError({ ...(status as Status), code: status.code ?? code });
  const message = text.trim().slice(0, 500) || `the server answered ${code} without a body`;
  return new StatusError({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code });
}

/** Yields the JSON value of each line. Ends when the stream ends or the signal aborts; a torn last line is dropped. */
async function* readLines(body: Readable, signal?: AbortSignal): AsyncGenerator<JsonValue, void, undefined> {
  body.setEncoding("utf8");
  let pieces: string[] = [];
  try {
    for await (const chunk of body as AsyncIterable<string>) {
      let start = 0;
      // Pieces of a long line are joined once it is complete: appending chunk by chunk would be quadratic.
      for (let end = chunk.indexOf("\n"); end >= 0; end = chunk.indexOf("\n", start)) {
        pieces.push(chunk.slice(start, end));
        const line = pieces.join("");
        pieces = [];
        start = end + 1;
        if (line.trim() !== "") yield parseJson(line);
      }
      if (start < chunk.length) pieces.push(chunk.slice(start));
    }
  } catch (error) {
    if (!signal?.aborted) throw error;
  } finally {
    body.destroy();
  }
}

/** The texts in Warning headers: `299 - "text"`, several joined by commas, quotes and backslashes escaped. */
export function parseWarnings(header: string | readonly string[] | undefined): string[] {
  const joined = typeof header === "string" ? header : (header ?? []).join(", ");
  return [...joined.matchAll(/\d{3} \S+ "((?:[^"\\]|\\.)*)"/g)].map((match) =>
    (match[1] ?? "").replaceAll(/\\(.)/g, "$1"),
  );
}
