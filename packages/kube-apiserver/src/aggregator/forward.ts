// SPDX-License-Identifier: Apache-2.0
// Requests for the APIs of other servers, and their responses. Texts are those of the reference.
import { Buffer } from "node:buffer";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { Duplex, Readable } from "node:stream";
import { badRequest } from "@purlin/kube-objects/errors";
import { countJsonValues, type JsonValue, parseJson, printJson } from "@purlin/kube-objects/json";
import {
  type ApiRequest,
  type ApiResponse,
  type CompleteResponse,
  type EventStream,
  requestTimeoutMs,
  StreamAbortedError,
  type StreamEvent,
  textPayload,
} from "../request/api-request.ts";
import { goNetworkError } from "../webhooks/go-network-error.ts";
import type { RemoteApi } from "./api-service.ts";
import { type Backends, DialError, hostOf, TransportError, userHeaders } from "./backends.ts";

/** The longest time for a request that is not a watch. */
const mostMs = 60_000;
const discoveryMs = 5_000;
/** A connection that switched protocols for a client that has gone meanwhile is ended after this time. */
const openWithinMs = 5_000;
/** How long a backend may send nothing after the client has ended its side. */
const halfOpenMs = 30_000;
/** Responses for clients in this process are parsed at once: larger ones, or ones with more values, would hold the event loop. */
const maxParsedBytes = 8 * 1024 * 1024;
const maxParsedValues = 250_000;

/** Headers that concern one connection, and those that the server replaces. */
const ownHeaders = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer"],
  ...["transfer-encoding", "upgrade", "http2-settings", "host", "content-length", "expect"],
]);
const replacedHeader = /^(?::|authorization$|impersonate-|x-remote-(?:user|uid|group)$|x-remote-extra-)/;
const headerName = /^[-!#$%&'*+.^_`|~0-9a-z]+$/;

/** Passes a request on to a backend. `isWatch`: the response may continue for as long as both want. */
export async function forward(
  request: ApiRequest,
  { remote, backends, isWatch }: { readonly remote: RemoteApi; readonly backends: Backends; readonly isWatch: boolean },
): Promise<ApiResponse> {
  const isUpgrade = asksForUpgrade(request);
  try {
    backends.checkTransport(remote);
    await backends.address(remote);
  } catch (error) {
    return error instanceof TransportError ? refusal(500, error.message) : unavailable();
  }
  const body = await bodyOf(request);
  const limit = AbortSignal.timeout(timeoutOf(request));
  const signal = isWatch ? request.signal : AbortSignal.any([request.signal, limit]);
  const path = `${request.path}${queryOf(request.query)}`;
  if (isUpgrade) {
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(mostMs)]);
    const headers = upgradeHeaders(request, body);
    const answer = backends.upgrade(remote, { method: request.method, path, headers, body, signal });
    return answer.then(
      ({ response, connection }) => upgradeAnswered(request, response, connection),
      (error: unknown) => refusal(503, upgradeProblem(error)),
    );
  }
  try {
    const headers = headersFor(request, hostOf(await backends.address(remote)), body);
    const response = await backends.send(remote, { method: request.method, path, headers, body, signal });
    return await answered(request, response, isWatch);
  } catch (error) {
    const text = limit.aborted && !isWatch ? "context deadline exceeded" : goNetworkError(error);
    return refusal(503, `error trying to reach service: ${text}`);
  }
}

/** Whether a request asks to switch protocols. Clients in this process have no connection that could. */
function asksForUpgrade({ headers: { connection = "", upgrade }, isUpgradable = false }: ApiRequest): boolean {
  const isUpgrade = connection.split(",").some((name) => name.trim().toLowerCase() === "upgrade");
  // Over TLS HTTP/2 is negotiated in the handshake: such a request is a plain one.
  if (!isUpgrade || upgrade === undefined || upgrade.toLowerCase() === "h2c") return false;
  if (isUpgradable) return true;
  throw badRequest(`cannot upgrade the connection to ${upgrade}: the request did not come over HTTP/1.1`);
}

function upgradeProblem(error: unknown): string {
  if (error instanceof DialError) return `error dialing backend: ${goNetworkError(error.cause)}`;
  const text = goNetworkError(error);
  return text === "EOF" ? "unexpected EOF" : text;
}

/** The response of a backend that was asked to switch protocols: errors as they are, and both directions of a connection that did. */
async function upgradeAnswered(
  request: ApiRequest,
  response: IncomingMessage,
  connection: Duplex | undefined,
): Promise<ApiResponse> {
  const { statusCode: code = 0, headers } = response;
  if (connection === undefined && code < 400) {
    response.destroy();
    return refusal(503, `invalid upgrade response: status code ${code}`);
  }
  if (connection === undefined) return answered(request, response, false);
  const unopened = setTimeout(() => connection.destroy(), openWithinMs);
  connection.once("close", () => clearTimeout(unopened));
  // All that the client had to send is sent.
  connection.once("finish", () => (connection as Socket).setTimeout(halfOpenMs, () => connection.destroy()));
  return {
    kind: "stream",
    code,
    headers: { ...headersOf(headers), connection: "Upgrade", upgrade: headers.upgrade ?? "" },
    contentType: "",
    accept: connection,
    open: (onReady) => {
      clearTimeout(unopened);
      return streamOf(connection, onReady, chunks());
    },
  };
}

/** The response for an API whose server is not available. */
export function unavailable(): CompleteResponse {
  return refusal(503, "service unavailable");
}

function refusal(code: number, text: string): CompleteResponse {
  return {
    kind: "complete",
    code,
    headers: { "x-content-type-options": "nosniff" },
    payload: textPayload(`${text}\n`),
  };
}

function timeoutOf({ path, query }: ApiRequest): number {
  const isDiscovery = path.split("/").filter(Boolean).length === 3;
  return isDiscovery ? discoveryMs : (requestTimeoutMs(query) ?? mostMs);
}

async function bodyOf({ body }: ApiRequest): Promise<Uint8Array | undefined> {
  if (body.kind === "bytes") return body.read();
  return body.kind === "value" ? Buffer.from(printJson(body.value)) : undefined;
}

function queryOf(query: URLSearchParams): string {
  const sorted = new URLSearchParams([...query]);
  sorted.sort();
  const text = sorted.toString();
  return text === "" ? "" : `?${text}`;
}

function headersFor(request: ApiRequest, host: string, body: Uint8Array | undefined): BackendHeaders {
  return {
    ...passedHeaders(request, body),
    ...{ "x-forwarded-host": host, "x-forwarded-proto": "https", "x-forwarded-uri": request.path },
  };
}

function upgradeHeaders(request: ApiRequest, body: Uint8Array | undefined): BackendHeaders {
  return { ...passedHeaders(request, body), connection: "Upgrade", upgrade: request.headers["upgrade"] ?? "" };
}

type BackendHeaders = Record<string, string | readonly string[]>;

function passedHeaders({ headers, origin, user }: ApiRequest, body: Uint8Array | undefined): BackendHeaders {
  const dropped = hopByHop(headers["connection"]);
  const kept = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || dropped.has(name) || replacedHeader.test(name) || !headerName.test(name)
      ? []
      : [[name, value] as const],
  );
  const clients = [headers["x-forwarded-for"], origin?.address].filter((one) => one !== undefined);
  return {
    ...Object.fromEntries(kept),
    ...(body !== undefined && { "content-length": String(body.length) }),
    ...(origin !== undefined && { "audit-id": origin.auditId }),
    ...(clients.length > 0 && { "x-forwarded-for": clients.join(", ") }),
    ...userHeaders(user),
  };
}

function hopByHop(connection: string | undefined): ReadonlySet<string> {
  const named = (connection ?? "").split(",").map((name) => name.trim().toLowerCase());
  return new Set([...ownHeaders, ...named]);
}

async function answered(request: ApiRequest, response: IncomingMessage, isWatch: boolean): Promise<ApiResponse> {
  const code = response.statusCode ?? 0;
  if (code >= 300 && code < 400 && response.headers.location !== undefined) {
    response.destroy();
    const text = "the backend attempted to redirect this request, which is not permitted";
    return { kind: "complete", code: 502, payload: textPayload(text) };
  }
  if (code < 200 || code > 599) {
    response.destroy();
    return refusal(503, `error trying to reach service: malformed HTTP status code "${code}"`);
  }
  const contentType = response.headers["content-type"] ?? "text/plain; charset=utf-8";
  const head = { code, headers: headersOf(response.headers), contentType };
  // Clients in this process have no wire: they take values.
  if (request.origin === undefined && !(isWatch && code === 200)) return parsed(response, head);
  const split = request.origin === undefined ? lines : chunks;
  return { kind: "stream", ...head, open: (onReady) => streamOf(response, onReady, split()) };
}

function headersOf(headers: IncomingHttpHeaders): Record<string, string> {
  const dropped = hopByHop(headers.connection);
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || dropped.has(name) || name === "content-type" || !headerName.test(name)
        ? []
        : [[name, Array.isArray(value) ? value.join(", ") : value] as const],
    ),
  );
}

interface Head {
  readonly code: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly contentType: string;
}

async function parsed(response: IncomingMessage, { contentType, ...head }: Head): Promise<CompleteResponse> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > maxParsedBytes) {
      response.destroy();
      throw new Error(`the response has more than ${maxParsedBytes} bytes`);
    }
    parts.push(part);
  }
  const body = Buffer.concat(parts);
  if (/json/.test(contentType) && countJsonValues(body.toString()) > maxParsedValues) {
    throw new Error(`the response has more than ${maxParsedValues} values`);
  }
  const value = (): JsonValue => (/json/.test(contentType) ? parseJson(body.toString()) : body.toString());
  return { kind: "complete", ...head, payload: { contentType, chunks: () => [body], value } };
}

/** Makes events of the bytes of a response. */
type Splitter = (bytes: Buffer) => StreamEvent[];

const chunks = (): Splitter => (bytes) => [{ parts: () => [bytes], value: () => bytes.toString() }];

/** One event for each line. */
function lines(): Splitter {
  // A chunk may end within a character.
  const decoder = new TextDecoder();
  let rest = "";
  return (bytes) => {
    const [...whole] = `${rest}${decoder.decode(bytes, { stream: true })}`.split("\n");
    rest = whole.pop() ?? "";
    if (rest.length > maxParsedBytes) throw new StreamAbortedError("an event of the backend is too large");
    return whole.map((line) => ({ parts: () => [Buffer.from(`${line}\n`)], value: () => eventOf(line) }));
  };
}

function eventOf(line: string): JsonValue {
  if (countJsonValues(line) > maxParsedValues)
    throw new StreamAbortedError("an event of the backend has too many values");
  return parseJson(line);
}

/** Takes bytes from the backend no faster than the client does. */
function streamOf(response: Readable, onReady: () => void, split: Splitter): EventStream {
  let isAborted = false;
  let isClosed = false;
  response.on("readable", onReady);
  response.on("end", onReady);
  response.on("close", () => {
    isAborted = !response.readableEnded && !isClosed;
    onReady();
  });
  return {
    take() {
      const bytes = response.read() as Buffer | null;
      if (bytes !== null) return split(bytes);
      if (isAborted) throw new StreamAbortedError("the backend ended the response early");
      return response.readableEnded || isClosed ? undefined : [];
    },
    close() {
      isClosed = true;
      response.destroy();
    },
  };
}
