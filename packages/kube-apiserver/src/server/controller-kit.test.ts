// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { systemUser } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import { type ApiRequest, type ApiResponse, documentPayload, textPayload } from "../request/api-request.ts";
import { objectCodec } from "../rest/object-codec.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { InternalClient, resourcePath, StoreFollower, type StoreFollowerOptions } from "./controller-kit.ts";

interface Scene extends AsyncDisposable {
  readonly store: Store<JsonObject>;
  /** What was looked at, in order. */
  readonly looks: string[];
  readonly errors: unknown[];
  put(key: string): Promise<void>;
  /** Settles when everything that was asked for was looked at. */
  rest(): Promise<void>;
}

function follow(options: Partial<StoreFollowerOptions> = {}): Scene {
  const store = openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
  const looks: string[] = [];
  const errors: unknown[] = [];
  const follower = new StoreFollower({
    store,
    prefix: "/kept/",
    onError: (error) => errors.push(error),
    retryDelayMs: 1,
    ...options,
    reconcile: async (subject) => {
      looks.push(subject);
      await options.reconcile?.(subject);
    },
  });
  follower.start();
  return {
    store,
    looks,
    errors,
    put: async (key) => {
      await store.write(key, () => ({ action: "put", value: {} }));
    },
    rest: async () => {
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    },
    [Symbol.asyncDispose]: async () => {
      follower.stop();
      await store.close();
    },
  };
}

test("each key below the prefix is looked at when it changes, and nothing else", async () => {
  await using scene = follow();
  await scene.put("/kept/a");
  await scene.put("/other/b");
  await scene.put("/kept/c");
  await scene.rest();
  assert.deepEqual(scene.looks, ["/kept/a", "/kept/c"]);
});

test("keys of one subject that change together are looked at once", async () => {
  await using scene = follow({ subjectOf: () => "all" });
  await Promise.all(["/kept/a", "/kept/b", "/kept/c"].map(scene.put));
  await scene.rest();
  assert.deepEqual(scene.looks, ["all"]);
});

test("what changes during a look is looked at once more, never twice at a time", async () => {
  const gate = Promise.withResolvers<void>();
  let atOnce = 0;
  let most = 0;
  await using scene = follow({
    reconcile: async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await gate.promise;
      atOnce -= 1;
    },
  });
  await scene.put("/kept/a");
  await scene.put("/kept/a");
  await scene.put("/kept/a");
  await scene.rest();
  assert.deepEqual(scene.looks, ["/kept/a"]);
  gate.resolve();
  await scene.rest();
  assert.deepEqual([scene.looks.length, most], [2, 1]);
});

test("a reconcile that fails is reported and retried", async () => {
  const { promise: triedAgain, resolve } = Promise.withResolvers<void>();
  const failure = new Error("not now");
  let calls = 0;
  await using scene = follow({
    subjectOf: () => "all",
    reconcile: async () => {
      calls += 1;
      if (calls === 1) throw failure;
      resolve();
    },
  });
  await scene.put("/kept/a");
  await triedAgain;
  assert.deepEqual([scene.looks, scene.errors], [["all", "all"], [failure]]);
});

test("a follower that was left behind by history looks at everything again", async () => {
  await using scene = follow();
  const busy = Promise.all(Array.from({ length: 300 }, (_, i) => scene.put(`/kept/${i}`)));
  await busy;
  scene.store.compact(scene.store.revision);
  await scene.put("/kept/last");
  await scene.rest();
  assert.ok(scene.looks.includes("/kept/last"));
  assert.equal(new Set(scene.looks).size, 301);
});

test("nothing is looked at after it was stopped", async () => {
  const store = openStore<JsonObject>({ directory: tempDirectory(), codec: objectCodec });
  await using _closing = store;
  const looks: string[] = [];
  const follower = new StoreFollower({
    store,
    prefix: "/kept/",
    onError: () => {},
    reconcile: async (key) => void looks.push(key),
  });
  follower.start();
  follower.stop();
  follower.enqueue("/kept/a");
  await store.write("/kept/b", () => ({ action: "put", value: {} }));
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(looks, []);
});

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
