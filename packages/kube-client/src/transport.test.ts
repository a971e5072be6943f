// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeRequest } from "@purlin/kube-client";
import { isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import {
  createDirectTransport,
  type DirectRequest,
  type DirectResponse,
  type DirectStream,
  guardTransport,
} from "./transport.ts";

const dryRun = { dryRun: "All" };
const rows: readonly { readonly request: KubeRequest; readonly isSent: boolean }[] = [
  { request: { method: "GET", path: "/api/v1/pods" }, isSent: true },
  { request: { method: "POST", path: "/api/v1/namespaces/a/configmaps", body: {} }, isSent: false },
  { request: { method: "POST", path: "/api/v1/namespaces/a/configmaps", body: {}, query: dryRun }, isSent: true },
  { request: { method: "PUT", path: "/api/v1/namespaces/a/configmaps/b", body: {} }, isSent: false },
  {
    request: { method: "PATCH", path: "/api/v1/namespaces/a/configmaps/b", body: {}, query: { dryRun: "None" } },
    isSent: false,
  },
  { request: { method: "DELETE", path: "/api/v1/namespaces/a/configmaps/b", body: {} }, isSent: false },
  { request: { method: "DELETE", path: "/api/v1/namespaces/a/configmaps/b", body: { dryRun: ["All"] } }, isSent: true },
  { request: { method: "DELETE", path: "/api/v1/namespaces/a/configmaps/b", body: { dryRun: [] } }, isSent: false },
  {
    request: { method: "POST", path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", body: {} },
    isSent: true,
  },
  { request: { method: "POST", path: "/apis/evil.example.org/v1/selfsubjectaccessreviews", body: {} }, isSent: false },
  // A body cannot turn a write into a dry run, nor a query a deletion of a body that says otherwise.
  { request: { method: "PUT", path: "/api/v1/namespaces/a/configmaps/b", body: { dryRun: ["All"] } }, isSent: false },
];

for (const { request, isSent } of rows) {
  test(`${request.method} ${request.path} ${JSON.stringify(request.query ?? request.body ?? "")} is ${isSent ? "sent" : "refused"}`, async () => {
    const sent: KubeRequest[] = [];
    const guarded = guardTransport({
      request: async (one) => {
        sent.push(one);
        return { code: 200, body: {}, warnings: [] };
      },
      stream: async () => (async function* () {})(),
      close: async () => {},
    });
    const outcome = guarded.request(request);
    if (isSent) await outcome;
    else await assert.rejects(outcome, /refused to send .* without dryRun=All/);
    assert.equal(sent.length, isSent ? 1 : 0);
  });
}

const complete = (code: number, value?: JsonValue): DirectResponse => ({
  kind: "complete",
  code,
  warnings: ["careful"],
  ...(value !== undefined && { payload: { value: () => value } }),
});

test("a request is handed over as it is, with its caller", async () => {
  const asked: DirectRequest<string>[] = [];
  const transport = createDirectTransport(async (request: DirectRequest<string>) => {
    asked.push(request);
    return complete(200, { ok: true });
  }, "admin");
  const body = { a: 1 };
  const response = await transport.request({
    method: "PATCH",
    path: "/api/v1/x",
    query: { force: "true" },
    contentType: "application/merge-patch+json",
    body,
  });
  assert.deepEqual(response, { code: 200, body: { ok: true }, warnings: ["careful"] });
  const [request] = asked;
  assert.equal(request?.body.kind === "value" && request.body.value, body, "the object itself, not a copy");
  assert.deepEqual(
    [request?.method, request?.path, request?.query.get("force"), request?.user, request?.headers["content-type"]],
    ["PATCH", "/api/v1/x", "true", "admin", "application/merge-patch+json"],
  );
});

test("a failure throws the server's Status, or its text", async () => {
  const status = { kind: "Status", apiVersion: "v1", reason: "NotFound", message: "gone", code: 404 };
  const answers = [complete(404, status), complete(404, "404 page not found\n"), complete(503)];
  const transport = createDirectTransport(async () => answers.shift() as DirectResponse, "admin");
  const ask = () => transport.request({ method: "GET", path: "/x" });
  await assert.rejects(ask(), (error) => isNotFound(error) && (error as Error).message === "gone");
  await assert.rejects(ask(), { message: "404 page not found", code: 404 });
  await assert.rejects(ask(), { message: "the server answered 503", code: 503 });
});

/** A stream that is fed by the test. */
function fed() {
  const waiting: JsonValue[] = [];
  let ready = (): void => {};
  const state = { closed: false, ended: false };
  const stream: DirectStream = {
    take: () =>
      state.ended && waiting.length === 0 ? undefined : waiting.splice(0).map((value) => ({ value: () => value })),
    close: () => {
      state.closed = true;
    },
  };
  const response: DirectResponse = {
    kind: "stream",
    code: 200,
    open: (onReady) => {
      ready = onReady;
      return stream;
    },
  };
  const push = (...values: JsonValue[]): void => {
    waiting.push(...values);
    ready();
  };
  const end = (): void => {
    state.ended = true;
    ready();
  };
  return { response, push, end, state };
}

test("events come as they are fed, until the server ends the stream", async () => {
  const { response, push, end, state } = fed();
  const transport = createDirectTransport(async () => response, "admin");
  const stream = await transport.stream({ method: "GET", path: "/watch" });
  const seen: JsonValue[] = [];
  const reading = (async () => {
    for await (const event of stream) seen.push(event);
  })();
  push(1, 2);
  await Promise.resolve();
  push(3);
  end();
  await reading;
  assert.deepEqual([seen, state.closed], [[1, 2, 3], true]);
});

test("a stream ends with its signal, with its reader and with its transport", async () => {
  const streams = [fed(), fed(), fed()] as const;
  const queue = [...streams];
  const transport = createDirectTransport(async () => (queue.shift() as ReturnType<typeof fed>).response, "admin");
  const stop = new AbortController();
  const read = async (events: AsyncIterable<JsonValue>, until?: number): Promise<void> => {
    for await (const event of events) if (event === until) return;
  };
  const first = read(await transport.stream({ method: "GET", path: "/a", signal: stop.signal }));
  const second = read(await transport.stream({ method: "GET", path: "/b" }), 7);
  const third = read(await transport.stream({ method: "GET", path: "/c" }));
  stop.abort();
  await first;
  streams[1].push(7);
  await second;
  await transport.close();
  await third;
  assert.deepEqual(
    streams.map(({ state }) => state.closed),
    [true, true, true],
  );
  await assert.rejects(transport.request({ method: "GET", path: "/x" }), /the client was closed/);
});
