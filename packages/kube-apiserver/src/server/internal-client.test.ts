// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound } from "@purlin/kube-objects/errors";
import { systemUser } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import { type ApiRequest, type ApiResponse, documentPayload, textPayload } from "../request/api-request.ts";
import { InternalClient, resourcePath } from "./internal-client.ts";

const json = { mediaType: "application/json" } as const;

function answering(response: ApiResponse, sent: ApiRequest[] = []): InternalClient {
  return new InternalClient(async (request) => {
    sent.push(request);
    return response;
  });
}
const ok = (payload?: ReturnType<typeof documentPayload>): ApiResponse => ({
  kind: "complete",
  code: 200,
  ...(payload && { payload }),
});

test("a request is sent as the server itself", async () => {
  const sent: ApiRequest[] = [];
  const client = answering(ok(documentPayload({ a: 1 }, json)), sent);
  assert.deepEqual(await client.send("PATCH", "/x", { query: { dryRun: "All" }, body: { b: 2 }, contentType: "a/b" }), {
    a: 1,
  });
  const [request = assert.fail()] = sent;
  assert.deepEqual([request.method, request.path, request.query.toString()], ["PATCH", "/x", "dryRun=All"]);
  assert.deepEqual(request.headers, { "user-agent": "kube-apiserver", "content-type": "a/b" });
  assert.deepEqual(request.body, { kind: "value", value: { b: 2 } });
  assert.equal(request.user, systemUser);
  assert.equal(request.origin, undefined);
});

test("a request without a body is JSON by default", async () => {
  const sent: ApiRequest[] = [];
  await answering(ok(), sent).delete("/x");
  assert.deepEqual(
    [sent[0]?.method, sent[0]?.body, sent[0]?.headers["content-type"]],
    ["DELETE", { kind: "none" }, "application/json"],
  );
});

test("a controller has the rights of its ServiceAccount", async () => {
  const sent: ApiRequest[] = [];
  await answering(ok(), sent).asController("namespace-controller").send("GET", "/x");
  assert.equal(sent[0]?.user.name, "system:serviceaccount:kube-system:namespace-controller");
  assert.deepEqual(sent[0]?.user.groups, [
    "system:serviceaccounts",
    "system:serviceaccounts:kube-system",
    "system:authenticated",
  ]);
});

test("an answer without a body is null", async () => {
  assert.equal(await answering(ok()).send("GET", "/x"), null);
});

test("a failure throws its Status, one without a Status an Error", async () => {
  const missing = notFound({ group: "", resource: "pods" }, "a");
  const refused: ApiResponse = { kind: "complete", code: 404, payload: documentPayload({ ...missing.status }, json) };
  await assert.rejects(answering(refused).send("GET", "/x"), { message: 'pods "a" not found', code: 404 });
  await assert.rejects(answering(refused).delete("/x"), { message: 'pods "a" not found' });
  const plain: ApiResponse = { kind: "complete", code: 503, payload: textPayload("no") };
  await assert.rejects(answering(plain).send("GET", "/x"), { message: "GET /x answered 503: no" });
  await assert.rejects(answering({ kind: "complete", code: 400 }).send("GET", "/x"), {
    message: "GET /x answered 400: null",
  });
});

test("a stream is not an answer", async () => {
  const stream: ApiResponse = { kind: "stream", code: 200, contentType: "", open: () => assert.fail() };
  await assert.rejects(answering(stream).send("GET", "/x"), { message: "GET /x answered with a stream" });
});

test("the path of objects has their group, version and namespace, escaped", () => {
  const type = { group: "x.org", version: "v1", resource: "things", namespaced: true } as ResourceType;
  const core = { ...type, group: "", namespaced: false };
  assert.equal(resourcePath(type, "ns"), "/apis/x.org/v1/namespaces/ns/things");
  assert.equal(resourcePath(type, "ns", "a:b/c"), "/apis/x.org/v1/namespaces/ns/things/a%3Ab%2Fc");
  assert.equal(resourcePath(type, ""), "/apis/x.org/v1/things");
  assert.equal(resourcePath(core, "ns", "a"), "/api/v1/things/a");
});
