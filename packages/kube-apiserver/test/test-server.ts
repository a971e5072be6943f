// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ApiResponse, EventStream } from "../src/request/api-request.ts";
import { objectCodec } from "../src/rest/object-codec.ts";
import { type ApiServer, type ApiServerOptions, startApiServer } from "../src/server/api-server.ts";
import { openMemoryStore } from "../src/server/memory-server.ts";
import type { Store } from "../src/store/store.ts";
import { serverDirectory } from "./store/temp-store.ts";
import { answerValue, type TestRequest, testRequest } from "./test-request.ts";

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
      while (!isWanted(await send(url))) {
        await new Promise((resolve) => setImmediate(resolve));
      }
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

  /** So many events, as "TYPE name". */
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
