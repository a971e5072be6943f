// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TestRequest, testRequest } from "../../test/test-server.ts";
import { type ApiResponse, type EventStream, type StreamResponse, textPayload } from "../request/api-request.ts";
import { requestTarget } from "../request/request-target.ts";
import { RequestMetrics } from "./request-metrics.ts";

function setUp() {
  let now = 0;
  const metrics = new RequestMetrics(
    (target) => (target.kind === "resource" ? target.resource === "configmaps" : target.path === "/version"),
    () => now,
  );
  const begin = (url: string, options: TestRequest = {}): ((response: ApiResponse) => ApiResponse) => {
    const request = testRequest(url, options);
    return metrics.begin(request, requestTarget(request.method, request.path, request.query));
  };
  const samples = async (name: string): Promise<string[]> =>
    (await metrics.registry.metrics()).split("\n").filter((line) => line.startsWith(name));
  const pass = (ms: number): void => {
    now += ms;
  };
  return { begin, samples, pass };
}

const answer = (text = "x", code = 200): ApiResponse => ({ kind: "complete", code, payload: textPayload(text) });
const labels = (line: string | undefined): Record<string, string> =>
  Object.fromEntries([...(line ?? "").matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [name, value]));

const collection = "/api/v1/namespaces/a/configmaps";
const cases: Record<string, { reason: string; url: string; options?: TestRequest; want: object }> = {
  Get: {
    reason: "one object",
    url: `${collection}/b`,
    want: { verb: "GET", scope: "resource", resource: "configmaps" },
  },
  List: { reason: "many in a namespace", url: collection, want: { verb: "LIST", scope: "namespace", version: "v1" } },
  Across: { reason: "many everywhere", url: "/api/v1/configmaps", want: { verb: "LIST", scope: "cluster" } },
  Create: {
    reason: "a dry run has its own label",
    url: `${collection}?dryRun=All`,
    options: { method: "POST" },
    want: { verb: "POST", dry_run: "All", scope: "namespace" },
  },
  Apply: {
    reason: "applying is a verb of its own",
    url: `${collection}/b`,
    options: { method: "PATCH", headers: { "content-type": "application/apply-patch+yaml" } },
    want: { verb: "APPLY" },
  },
  Patch: {
    reason: "other patches are patches",
    url: `${collection}/b`,
    options: { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } },
    want: { verb: "PATCH" },
  },
  DeleteMany: {
    reason: "deleting many is too",
    url: collection,
    options: { method: "DELETE" },
    want: { verb: "DELETECOLLECTION" },
  },
  Path: { reason: "a path", url: "/version", want: { subresource: "version", component: "", resource: "" } },
  Unknown: {
    reason: "arbitrary names are not kept",
    url: "/api/v1/namespaces/a/made-up",
    want: { resource: "", group: "", verb: "GET" },
  },
  Method: { reason: "nor are methods", url: "/version", options: { method: "MADE-UP" }, want: { verb: "other" } },
};

for (const [name, { reason, url, options, want }] of Object.entries(cases)) {
  test(`requests are counted: ${name}`, async () => {
    const { begin, samples } = setUp();
    begin(url, options)(answer());
    const [line, ...more] = await samples("apiserver_request_total{");
    assert.equal(more.length, 0);
    const found = labels(line);
    assert.deepEqual({ ...found, ...want }, found, reason);
  });
}

test("answers are counted by code, and timed", async () => {
  const { begin, samples, pass } = setUp();
  const done = begin(collection);
  pass(30);
  done(answer("no", 404));
  assert.equal(labels((await samples("apiserver_request_total{"))[0])["code"], "404");
  const buckets = (await samples("apiserver_request_duration_seconds_bucket")).map((line) => line.split(" ").at(-1));
  assert.deepEqual(buckets.slice(0, 4), ["0", "0", "1", "1"]);
  assert.match((await samples("apiserver_request_duration_seconds_sum"))[0] ?? "", / 0\.03$/);
});

test("what is under way is counted while it is", async () => {
  const { begin, samples } = setUp();
  const reading = begin(collection);
  const writing = begin(collection, { method: "POST" });
  const counts = async (): Promise<(string | undefined)[]> =>
    (await samples("apiserver_current_inflight_requests{")).map((line) => line.split(" ").at(-1));
  assert.deepEqual(await counts(), ["1", "1"]);
  reading(answer());
  writing(answer());
  assert.deepEqual(await counts(), ["0", "0"]);
});

test("bytes are counted when they are sent", async () => {
  const { begin, samples } = setUp();
  const sent = begin(collection)(answer("12345"));
  assert.deepEqual(await samples("apiserver_response_sizes_sum"), []);
  assert.ok(sent.kind === "complete");
  sent.payload?.chunks();
  assert.match((await samples("apiserver_response_sizes_sum"))[0] ?? "", / 5$/);
});

test("a watch is under way until either side ends it, and counted then", async () => {
  for (const endedBy of ["client", "server"] as const) {
    const { begin, samples } = setUp();
    let isOver = false;
    const stream: EventStream = { take: () => (isOver ? undefined : []), close: () => {} };
    const response: StreamResponse = { kind: "stream", code: 200, contentType: "application/json", open: () => stream };
    const wrapped = begin(`${collection}?watch=true`)(response);
    assert.ok(wrapped.kind === "stream");
    const opened = wrapped.open(() => {});
    assert.deepEqual(opened.take(), []);
    assert.match((await samples("apiserver_longrunning_requests{"))[0] ?? "", /verb="WATCH".* 1$/);
    assert.deepEqual(await samples("apiserver_request_total{"), []);
    isOver = endedBy === "server";
    opened.take();
    opened.close();
    assert.match((await samples("apiserver_longrunning_requests{"))[0] ?? "", / 0$/, endedBy);
    assert.match((await samples("apiserver_request_total{"))[0] ?? "", / 1$/, endedBy);
  }
});
