// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { mastersGroup, type User } from "../src/auth/user.ts";
import type { Subresource } from "../src/registry/registry.ts";
import type { ApiRequest, ApiResponse, EventStream, RequestBody } from "../src/request/api-request.ts";
import { requestTarget } from "../src/request/request-target.ts";
import { objectCodec } from "../src/rest/object-codec.ts";
import type { RestRequest } from "../src/rest/rest-context.ts";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../src/server/api-server.ts";
import { openMemoryStore } from "../src/server/memory-server.ts";
import type { Store } from "../src/store/store.ts";
import { serverDirectory } from "./store/temp-store.ts";

// For tests of packages of kinds as well.
export { warningHeaders } from "../src/http/write-complete.ts";
export { serverKinds } from "../src/kinds/server-kinds.ts";
export { objectCodec } from "../src/rest/object-codec.ts";
export { openStore } from "../src/store/open-store.ts";
export { makingRow, plainPrinter } from "../src/table/table.ts";
export { serverDirectory, tempDirectory } from "./store/temp-store.ts";

/** A store in memory that holds these objects under these keys, written in this order. */
export async function storeOf(objects: Readonly<Record<string, JsonObject>>): Promise<Store<JsonObject>> {
  const store = openMemoryStore<JsonObject>(objectCodec);
  for (const [key, value] of Object.entries(objects)) await store.write(key, () => ({ action: "put", value }));
  return store;
}

/** A server without a wire, and short ways to ask it. */
export interface TestServer extends AsyncDisposable {
  readonly server: ApiServer;
  send(url: string, options?: TestRequest): Promise<ApiResponse>;
  /** The body of an answer; fails when it is a refusal. */
  body(url: string, options?: TestRequest): Promise<JsonObject>;
  post(url: string, object: JsonObject): Promise<JsonObject>;
  patch(url: string, patch: JsonObject): Promise<JsonObject>;
  delete(url: string, options?: JsonObject): Promise<JsonObject>;
  watch(url: string): Promise<TestWatch>;
  /** Asks until the answer is as wanted. */
  until(url: string, isWanted: (response: ApiResponse) => boolean): Promise<void>;
}

export async function startTestServer(options: Partial<ApiServerOptions> = {}): Promise<TestServer> {
  const server = await startApiServer({ directory: serverDirectory(), ...options });
  const send: TestServer["send"] = (url, request) => server.handle(testRequest(url, request));
  const body: TestServer["body"] = async (url, request) => {
    const response = await send(url, request);
    if (response.code >= 400) {
      throw new Error(`${request?.method ?? "GET"} ${url}: ${JSON.stringify(answerValue(response))}`);
    }
    return answerValue(response) as JsonObject;
  };
  const mergePatch = { "content-type": "application/merge-patch+json" };
  return {
    server,
    send,
    body,
    post: (url, object) => body(url, { method: "POST", body: object }),
    patch: (url, patch) => body(url, { method: "PATCH", headers: mergePatch, body: patch }),
    delete: (url, request) => body(url, { method: "DELETE", ...(request === undefined ? {} : { body: request }) }),
    watch: async (url) => new TestWatch(await send(url)),
    until: async (url, isWanted) => {
      while (!isWanted(await send(url))) await new Promise((resolve) => setImmediate(resolve));
    },
    [Symbol.asyncDispose]: () => server.close(),
  };
}

/** "TYPE name@…" is all most tests want to see of an event. */
interface SeenEvent {
  readonly type: string;
  readonly object: JsonObject;
}

/** A watch whose events can be waited for. */
class TestWatch {
  readonly #stream: EventStream;
  readonly #events: SeenEvent[] = [];
  #wake: () => void = () => {};
  #isEnded = false;

  constructor(response: ApiResponse) {
    if (response.kind !== "stream") {
      throw new Error(`expected a stream, got ${response.code} ${JSON.stringify(answerValue(response))}`);
    }
    this.#stream = response.open(() => this.#wake());
  }

  /** The next event; undefined when the stream has ended. */
  async next(): Promise<SeenEvent | undefined> {
    for (;;) {
      const ready = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const event = this.#events.shift() ?? this.#take();
      if (event !== undefined || this.#isEnded) return event;
      await ready;
    }
  }

  /** This many events, as "TYPE name". */
  async names(count: number): Promise<string[]> {
    const seen: string[] = [];
    while (seen.length < count) {
      const event = await this.next();
      const metadata = (event?.object["metadata"] ?? {}) as { readonly name?: string };
      seen.push(event === undefined ? "end" : `${event.type} ${metadata.name ?? ""}`.trim());
    }
    return seen;
  }

  close(): void {
    this.#stream.close();
  }

  #take(): SeenEvent | undefined {
    const events = this.#stream.take();
    this.#isEnded = events === undefined;
    for (const event of events ?? []) {
      const line = Buffer.concat(event.parts()).toString();
      if (!line.endsWith("\n") || line.indexOf("\n") !== line.length - 1) {
        throw new Error(`an event is one line: ${JSON.stringify(line)}`);
      }
      this.#events.push(JSON.parse(line) as SeenEvent);
    }
    return this.#events.shift();
  }
}

export const admin: User = { name: "admin", groups: [mastersGroup, "system:authenticated"] };

export interface TestRequest {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: JsonValue;
  /** A body as it comes over a wire. */
  readonly text?: string | Uint8Array;
  readonly user?: User;
  readonly signal?: AbortSignal;
}

/** A request without a wire. */
export function testRequest(url: string, options: TestRequest = {}): ApiRequest {
  const [path = "", query = ""] = url.split("?", 2);
  return {
    method: options.method ?? "GET",
    path,
    query: new URLSearchParams(query),
    headers: options.headers ?? {},
    body: bodyOf(options),
    user: options.user ?? admin,
    signal: options.signal ?? new AbortController().signal,
  };
}

function bodyOf({ body, text }: TestRequest): RequestBody {
  if (text !== undefined) return { kind: "bytes", read: async () => Buffer.from(text) };
  return body === undefined ? { kind: "none" } : { kind: "value", value: body };
}

/** The value of an answer in one piece, after both of its forms were found to say the same. */
export function answerValue(response: ApiResponse | undefined): JsonValue {
  if (response?.kind !== "complete" || response.payload === undefined) {
    throw new Error(`expected an answer with a body, got ${JSON.stringify(response)}`);
  }
  return response.payload.value();
}

/** The bytes of an answer in one piece, as text. */
export function textOf(response: ApiResponse | undefined): string {
  if (response?.kind !== "complete") throw new Error("expected an answer in one piece");
  return Buffer.concat(response.payload?.chunks() ?? []).toString();
}

/** A POST for Pods or Bindings at 2030-01-02T03:04:05Z, without admission. */
export function podRequest(store: Store<JsonObject>, url: string, body: JsonObject): RestRequest {
  const request = testRequest(url, { method: "POST", body });
  const target = requestTarget(request.method, request.path, request.query);
  if (target.kind !== "resource") throw new Error(`${url} is not the path of a resource`);
  const { resource } = target;
  const kind = resource === "pods" ? "Pod" : "Binding";
  const storage = { group: "", resource, version: "v1" };
  const subresources: readonly Subresource[] = [];
  const type = { group: "", version: "v1", kind, resource, namespaced: true, storage, rules: {}, subresources };
  const strategy = { storage: { toServed: (stored: JsonObject) => stored }, validator: {} };
  const admission = { find: () => undefined };
  const now = (): Date => new Date("2030-01-02T03:04:05Z");
  return { store, request, target, type, strategy, admission, now, notes: [] } as unknown as RestRequest;
}

/** A custom kind for tests: with a default, a status and a Scale. */
export const widgetCrd: JsonObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "widgets", kind: "Widget" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: {
          status: {},
          scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
        },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: {
                type: "object",
                properties: { replicas: { type: "integer" }, color: { type: "string", default: "red" } },
              },
              status: { type: "object", properties: { replicas: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};

/** Where definitionsPath are. */
export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
