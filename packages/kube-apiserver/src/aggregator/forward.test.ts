// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { test } from "node:test";
import { answerValue, type TestRequest, testRequest, textOf } from "../../test/test-server.ts";
import { type ApiRequest, type ApiResponse, type EventStream, StreamAbortedError } from "../request/api-request.ts";
import type { RemoteApi } from "./api-service.ts";
import { type Backends, TransportError } from "./backends.ts";
import { forward, unavailable } from "./forward.ts";

const remote = { service: { namespace: "ns", name: "api", port: 443 } } as RemoteApi;
const things = "/apis/example.org/v1/things";

interface Sent {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: Uint8Array;
}

interface Backend {
  readonly code?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  /** The pieces of the body; the response ends after them unless `isOpen`. */
  readonly body?: readonly (string | Uint8Array)[];
  readonly isOpen?: boolean;
  readonly error?: Error;
  readonly transport?: Error;
  readonly unresolved?: Error;
}

interface Call extends TestRequest {
  readonly url?: string;
  readonly isWatch?: boolean;
  readonly origin?: ApiRequest["origin"];
}

interface Forwarded {
  readonly answer: ApiResponse;
  readonly sent: Sent | undefined;
  readonly response: Readable;
}

async function forwarded(call: Call = {}, backend: Backend = {}): Promise<Forwarded> {
  const { url = things, isWatch = false, origin, ...options } = call;
  const response = new Readable({ read: () => {} });
  response.on("error", () => {});
  for (const piece of backend.body ?? []) response.push(piece);
  if (!backend.isOpen) response.push(null);
  const { code = 200, headers = { "content-type": "application/json" } } = backend;
  let sent: Sent | undefined;
  const backends = {
    checkTransport: () => {
      if (backend.transport !== undefined) throw backend.transport;
    },
    address: () => {
      if (backend.unresolved !== undefined) throw backend.unresolved;
      return { host: "10.0.0.1", port: 8443 };
    },
    send: async (_: RemoteApi, request: Sent) => {
      sent = request;
      if (backend.error !== undefined) throw backend.error;
      return Object.assign(response, { statusCode: code, headers }) as unknown as IncomingMessage;
    },
  } as unknown as Backends;
  const request = { ...testRequest(url, options), ...(origin && { origin }) };
  return { answer: await forward(request, { remote, backends, isWatch }), sent, response };
}

const origin = { auditId: "audit-1", uri: things, address: "192.0.2.7" };

test("a request is passed on with its path, its sorted query and its body", async () => {
  const { sent } = await forwarded({ url: `${things}?b=2&a=%201&b=1`, method: "POST", text: "{}" });
  assert.equal(sent?.method, "POST");
  assert.equal(sent?.path, `${things}?a=+1&b=2&b=1`);
  assert.equal(Buffer.from(sent?.body ?? []).toString(), "{}");
  assert.equal(sent?.headers["content-length"], "2");
  const value = await forwarded({ method: "POST", body: { n: 2n ** 60n } });
  assert.equal(Buffer.from(value.sent?.body ?? []).toString(), '{"n":1152921504606846976}');
  assert.equal((await forwarded()).sent?.body, undefined);
});

test("the backend gets the user, and none of what clients send under the same names", async () => {
  const headers = {
    authorization: "Bearer x",
    "impersonate-user": "eve",
    "x-remote-user": "eve",
    "x-remote-group": "system:masters",
    "x-remote-uid": "1",
    "x-remote-extra-a": "b",
    accept: "application/json",
  };
  const user = { name: "jané", uid: "7", groups: ["a", "b"], extra: { "Scopes/x": ["s"] } };
  const { sent } = await forwarded({ headers, user });
  assert.deepEqual(sent?.headers, {
    accept: "application/json",
    "x-forwarded-host": "10.0.0.1:8443",
    "x-forwarded-proto": "https",
    "x-forwarded-uri": things,
    "x-remote-user": Buffer.from("jané").toString("latin1"),
    "x-remote-uid": "7",
    "x-remote-group": ["a", "b"],
    "x-remote-extra-scopes%2fx": ["s"],
  });
});

test("headers of one connection, and those that the Connection header names, are not passed on", async () => {
  const dropped = {
    connection: "close, X-Mine",
    "x-mine": "1",
    "keep-alive": "5",
    te: "trailers",
    trailer: "x",
    "transfer-encoding": "chunked",
    host: "me",
    expect: "100-continue",
    "proxy-authorization": "x",
    ":path": "/",
    "bad name": "x",
  };
  const { sent } = await forwarded({ headers: { ...dropped, "x-other": "2" } });
  for (const name of Object.keys(dropped)) assert.ok(!(name in (sent?.headers ?? {})), name);
  assert.equal(sent?.headers["x-other"], "2");
});

test("a request over the wire is passed on with its audit id and the address of the client", async () => {
  const { sent } = await forwarded({ origin, headers: { "x-forwarded-for": "198.51.100.1" } });
  assert.equal(sent?.headers["audit-id"], "audit-1");
  assert.equal(sent?.headers["x-forwarded-for"], "198.51.100.1, 192.0.2.7");
});

test("an upgrade of a connection that there is not is refused, h2c is not one", async () => {
  const upgrade = (to: string): Promise<Forwarded> =>
    forwarded({ headers: { connection: "keep-alive, Upgrade", upgrade: to } });
  await assert.rejects(upgrade("websocket"), {
    message: "cannot upgrade the connection to websocket: the request did not come over HTTP/1.1",
    code: 400,
  });
  assert.equal((await upgrade("H2C")).answer.code, 200);
});

/** Code and text of a refusal. */
async function refusal(backend: Backend, call: Call = {}): Promise<readonly [number, string]> {
  const { answer } = await forwarded(call, backend);
  return [answer.code, textOf(answer)];
}

test("a backend that cannot be reached is 503, certificates that cannot be read are 500", async () => {
  assert.deepEqual(await refusal({ transport: new TransportError("no PEM") }), [500, "no PEM\n"]);
  assert.deepEqual(await refusal({ unresolved: new Error("no endpoints") }), [503, "service unavailable\n"]);
  assert.deepEqual([unavailable().code, textOf(unavailable())], [503, "service unavailable\n"]);
  const error = Object.assign(new Error(), { code: "ECONNRESET" });
  assert.deepEqual(await refusal({ error }), [503, "error trying to reach service: EOF\n"]);
  assert.equal((await forwarded({}, { error })).answer.headers?.["x-content-type-options"], "nosniff");
});

test("redirects are refused, a 3xx without a location is passed on", async () => {
  const text = "the backend attempted to redirect this request, which is not permitted";
  assert.deepEqual(await refusal({ code: 302, headers: { location: "/x" } }), [502, text]);
  assert.equal((await forwarded({}, { code: 304, headers: {} })).answer.code, 304);
});

test("codes outside of HTTP are refused", async () => {
  for (const code of [101, 600]) {
    assert.deepEqual(await refusal({ code }), [
      503,
      `error trying to reach service: malformed HTTP status code "${code}"\n`,
    ]);
  }
  assert.equal((await forwarded({}, { code: 599 })).answer.code, 599);
});

test("headers of the response are passed on but for those of the connection", async () => {
  const headers = {
    "content-type": "a/b",
    connection: "x-mine",
    "x-mine": "1",
    "content-length": "2",
    "x-other": ["1", "2"],
  };
  const { answer } = await forwarded({}, { headers });
  assert.deepEqual(answer.headers, { "x-other": "1, 2" });
});

test("a client in this process gets the value of a JSON response, and the text of any other", async () => {
  const json = await forwarded({}, { body: ['{"n":11529215046', "06846976}"] });
  assert.deepEqual(answerValue(json.answer), { n: 2n ** 60n });
  const plain = await forwarded({}, { body: ["{}"], headers: {} });
  assert.equal(answerValue(plain.answer), "{}");
  assert.equal(plain.answer.kind === "complete" ? plain.answer.payload?.contentType : "", "text/plain; charset=utf-8");
});

test("a response of more than 8 MiB for a client in this process is refused", async () => {
  const body = [Buffer.alloc(8 * 1024 * 1024), Buffer.alloc(1)];
  const [code, text] = await refusal({ body });
  assert.deepEqual([code, text], [503, "error trying to reach service: the response has more than 8388608 bytes\n"]);
});

test("a response or an event of too many values for a client in this process is refused", async () => {
  const list = (values: number): string => `[${"0,".repeat(values - 2)}0]`;
  const read = await forwarded({}, { body: [list(250_000)] });
  assert.equal((answerValue(read.answer) as unknown[]).length, 249_999);
  const [code, text] = await refusal({ body: [list(250_001)] });
  assert.deepEqual([code, text], [503, "error trying to reach service: the response has more than 250000 values\n"]);
  const call = await forwarded({ isWatch: true }, { body: [`${list(250_001)}\n`], isOpen: true });
  const [event = assert.fail("no event")] = opened(call).take() ?? [];
  assert.throws(() => event.value(), { message: "an event of the backend has too many values" });
});

function opened({ answer }: Forwarded): EventStream {
  if (answer.kind !== "stream") assert.fail(`expected a stream, got ${answer.code}`);
  return answer.open(() => {});
}

/** The events that are there, as text. */
const taken = (stream: EventStream): string[] | undefined =>
  stream.take()?.map((event) => Buffer.concat(event.parts()).toString());

/** Waits until a change of a stream has reached its reader. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a client on the wire gets the bytes as they come", async () => {
  const call = await forwarded({ origin }, { body: ["ab"], isOpen: true });
  const stream = opened(call);
  assert.deepEqual(taken(stream), ["ab"]);
  assert.deepEqual(taken(stream), []);
  call.response.push("c");
  call.response.push(null);
  await settled();
  assert.deepEqual(taken(stream), ["c"]);
  await settled();
  assert.equal(taken(stream), undefined);
});

test("a watch in this process gets one event for each whole line", async () => {
  const call = await forwarded({ isWatch: true }, { body: ['{"a":1}\n{"b"'], isOpen: true });
  const stream = opened(call);
  assert.deepEqual(taken(stream), ['{"a":1}\n']);
  call.response.push(":2}\n");
  await settled();
  assert.deepEqual(
    stream.take()?.map((event) => event.value()),
    [{ b: 2 }],
  );
});

test("a character whose bytes come in two pieces is read whole", async () => {
  const bytes = Buffer.from('"é€😀"\n');
  for (let cut = 1; cut < bytes.length; cut++) {
    const call = await forwarded({ isWatch: true }, { body: [bytes.subarray(0, cut)], isOpen: true });
    const stream = opened(call);
    const first = stream.take() ?? [];
    call.response.push(bytes.subarray(cut));
    await settled();
    const events = [...first, ...(stream.take() ?? [])];
    assert.deepEqual(
      events.map((event) => event.value()),
      ["é€😀"],
      `cut after ${cut} bytes`,
    );
  }
});

test("a watch that is refused is a response in one piece", async () => {
  const { answer } = await forwarded({ isWatch: true }, { code: 410, body: ['{"code":410}'] });
  assert.deepEqual([answer.code, answerValue(answer)], [410, { code: 410 }]);
});

test("a response that the backend ends early is not taken for a complete one", async () => {
  const call = await forwarded({ origin }, { body: ["ab"], isOpen: true });
  const stream = opened(call);
  taken(stream);
  call.response.destroy();
  await settled();
  assert.throws(
    () => stream.take(),
    (error: Error) => {
      assert.ok(error instanceof StreamAbortedError);
      assert.equal(error.message, "the backend ended the response early");
      return true;
    },
  );
});

test("a client that closes its stream ends the response of the backend", async () => {
  const call = await forwarded({ origin }, { isOpen: true });
  const stream = opened(call);
  stream.close();
  await settled();
  assert.ok(call.response.destroyed);
  assert.equal(stream.take(), undefined);
});
