// SPDX-License-Identifier: Apache-2.0

import { type Status, StatusError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { deepFreeze, type KubeObject, type WatchEvent } from "@purlin/kube-objects/object";

/** A request to a Kubernetes API server, before it is written to a wire or handed to a function. */
export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** The path without a query, such as `/api/v1/namespaces`. */
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  /** The accepted media types of the response. Default: JSON. */
  readonly accept?: string;
  /** The media type of the body. Default: JSON. */
  readonly contentType?: string;
  readonly body?: JsonValue;
  readonly signal?: AbortSignal | undefined;
}

/** A successful answer. */
export interface KubeResponse {
  readonly code: number;
  readonly body: JsonValue;
  /** Texts of the server's Warning headers. */
  readonly warnings: readonly string[];
}

/**
 * The way to one API server. A failure the server answered throws a StatusError; a failure to reach it throws what the
 * transport throws.
 */
export interface KubeTransport {
  request(request: KubeRequest): Promise<KubeResponse>;
  /** Opens a watch. Iterating yields one event after the other until the server or the signal ends the stream. */
  stream(request: KubeRequest): Promise<AsyncIterable<JsonValue>>;
  close(): Promise<void>;
}

const initialEventsEnd = "k8s.io/initial-events-end";

/** Turns the raw objects of a watch stream into events. An ERROR event throws its Status. */
export async function* readWatchEvents(stream: AsyncIterable<JsonValue>): AsyncGenerator<WatchEvent, void, undefined> {
  for await (const raw of stream) yield toWatchEvent(raw);
}

function toWatchEvent(raw: JsonValue): WatchEvent {
  const { type, object } = raw as { readonly type: string; readonly object: KubeObject };
  switch (type) {
    case "ADDED":
    case "MODIFIED":
    case "DELETED":
      return { type, object: deepFreeze(object) };
    case "BOOKMARK":
      return {
        type,
        resourceVersion: object.metadata.resourceVersion ?? "",
        initialEventsEnd: object.metadata.annotations?.[initialEventsEnd] === "true",
      };
    case "ERROR":
      throw new StatusError(object as Status);
    default:
      throw new Error(`the watch sent an event of unknown type ${JSON.stringify(type)}`);
  }
}

/** Reviews are questions: the API server stores nothing of them. */
const reviews = /^\/apis\/(?:authorization|authentication)\.k8s\.io\/[^/]+\/(?:namespaces\/[^/]+\/)?[a-z]+reviews$/;

/** A transport that sends no request that could change anything. */
export function guardTransport(transport: KubeTransport): KubeTransport {
  return {
    async request(request) {
      requireHarmless(request);
      return transport.request(request);
    },
    async stream(request) {
      requireHarmless(request);
      return transport.stream(request);
    },
    close: () => transport.close(),
  };
}

function requireHarmless({ method, path, query, body }: KubeRequest): void {
  if (method === "GET" || (method === "POST" && reviews.test(path))) return;
  const isDryRun = query?.["dryRun"] === "All" || (method === "DELETE" && isDryRunBody(body));
  if (!isDryRun) throw new Error(`refused to send ${method} ${path} without dryRun=All: this command only reads`);
}

function isDryRunBody(body: JsonValue | undefined): boolean {
  if (!isJsonObject(body)) return false;
  const { dryRun } = body;
  return Array.isArray(dryRun) && dryRun.length === 1 && dryRun[0] === "All";
}

/** A request handed to an API server in the same process. `User` is whatever that server takes for a caller. */
export interface DirectRequest<User> {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: { readonly kind: "none" } | { readonly kind: "value"; readonly value: JsonValue };
  readonly user: User;
  readonly signal: AbortSignal;
}

/** Its answer: a value, or events taken at the reader's pace. */
export type DirectResponse =
  | {
      readonly kind: "complete";
      readonly code: number;
      readonly warnings?: readonly string[];
      readonly payload?: { value(): JsonValue };
    }
  | { readonly kind: "stream"; readonly code: number; readonly open: (onReady: () => void) => DirectStream };

/** Events there are now; none: wait to be called; undefined: the stream has ended. */
export interface DirectStream {
  take(): readonly { value(): JsonValue }[] | undefined;
  close(): void;
}

/** An API server as a function. */
export type DirectServer<User> = (request: DirectRequest<User>) => Promise<DirectResponse>;

/** The way to an API server in the same process: no socket, no TLS, no JSON text in between. */
export function createDirectTransport<User>(
  server: DirectServer<User>,
  user: User,
  userAgent = "purlin",
): KubeTransport {
  const closing = new AbortController();

  function toDirect(request: KubeRequest): DirectRequest<User> {
    const signal = request.signal === undefined ? closing.signal : AbortSignal.any([request.signal, closing.signal]);
    return {
      method: request.method,
      path: request.path,
      query: new URLSearchParams(request.query),
      headers: {
        accept: request.accept ?? "application/json",
        "user-agent": userAgent,
        ...(request.body !== undefined && { "content-type": request.contentType ?? "application/json" }),
      },
      body: request.body === undefined ? { kind: "none" } : { kind: "value", value: request.body },
      user,
      signal,
    };
  }

  return {
    async request(request) {
      const direct = toDirect(request);
      direct.signal.throwIfAborted();
      const response = await server(direct);
      if (response.kind === "stream") throw new Error(`${request.method} ${request.path} answered with a stream`);
      return { code: response.code, body: bodyOf(response), warnings: response.warnings ?? [] };
    },
    async stream(request) {
      const direct = toDirect(request);
      direct.signal.throwIfAborted();
      const response = await server(direct);
      if (response.kind === "stream") return events(response, direct.signal);
      bodyOf(response);
      throw new Error(`${request.method} ${request.path} did not answer with a stream`);
    },
    async close() {
      closing.abort(new Error("the client was closed"));
    },
  };
}

/** The body of a successful answer; a failed one throws its Status. */
function bodyOf({ code, payload }: Extract<DirectResponse, { kind: "complete" }>): JsonValue {
  const body = payload?.value() ?? null;
  if (code >= 200 && code < 300) return body;
  const status = body as Partial<Status> | null;
  if (status?.kind === "Status") throw new StatusError({ ...(status as Status), code: status.code ?? code });
  const message = typeof body === "string" ? body.trim() : `the server answered ${code}`;
  throw new StatusError({ kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, code });
}

async function* events(
  response: Extract<DirectResponse, { kind: "stream" }>,
  signal: AbortSignal,
): AsyncGenerator<JsonValue, void, undefined> {
  let wake = (): void => {};
  const stream = response.open(() => wake());
  const stop = (): void => wake();
  signal.addEventListener("abort", stop, { once: true });
  try {
    while (!signal.aborted) {
      const ready = new Promise<void>((resolve) => {
        wake = resolve;
      });
      const taken = stream.take();
      if (taken === undefined) return;
      for (const event of taken) yield event.value();
      if (taken.length === 0) await ready;
    }
  } finally {
    signal.removeEventListener("abort", stop);
    stream.close();
  }
}
