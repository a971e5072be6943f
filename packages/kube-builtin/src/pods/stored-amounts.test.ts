// SPDX-License-Identifier: Apache-2.0
// Objects that were stored before there was a limit for the amounts of a map, and for the names of a definition.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { answerValue, objectCodec, openStore, serverDirectory } from "@purlin/kube-apiserver/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { startTestServer, type TestServer } from "../../test/index.ts";

const namespaced = (api: string, resource: string): string => `${api}/namespaces/default/${resource}`;
const pods = namespaced("/api/v1", "pods");
const deployments = namespaced("/apis/apps/v1", "deployments");
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const definition = `${definitions}/widgets.example.org`;

function devices(count: number): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.org/d${index}`, "1"]));
}

const shortNames = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);
const resources = (count: number): JsonObject => ({ limits: devices(count), requests: devices(count) });
const podSpec = (count: number): JsonObject => ({
  containers: [{ name: "c", image: "i", resources: resources(count) }],
});
const labels = { app: "a" };

const small: readonly (readonly [url: string, object: JsonObject])[] = [
  [pods, { metadata: { name: "p", finalizers: ["example.org/f"] }, spec: podSpec(1) }],
  [
    deployments,
    {
      metadata: { name: "d" },
      spec: { replicas: 0, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec(1) } },
    },
  ],
  [
    definitions,
    {
      metadata: { name: "widgets.example.org" },
      spec: {
        group: "example.org",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget", shortNames: ["n0"] },
        versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
      },
    },
  ],
];

/** The object with 10,001 devices and 1,001 names where it has one. */
function enlarged(object: JsonObject): JsonObject {
  const text = JSON.stringify(object)
    .replaceAll('{"example.org/d0":"1"}', JSON.stringify(devices(10_001)))
    .replaceAll('["n0"]', JSON.stringify(shortNames(1001)));
  return JSON.parse(text) as JsonObject;
}

function withVersion(object: JsonObject, revision: number): JsonObject {
  return { ...object, metadata: { ...(object["metadata"] as JsonObject), resourceVersion: String(revision) } };
}

let server: TestServer;

before(async () => {
  const directory = serverDirectory();
  const earlier = await startTestServer({ directory });
  await earlier.until("/api/v1/namespaces/default/serviceaccounts/default", ({ code }) => code === 200);
  for (const [url, object] of small) await earlier.post(url, object);
  await earlier.until(definition, (response) => /NoConflicts.*"n0"/.test(JSON.stringify(answerValue(response))));
  await earlier[Symbol.asyncDispose]();
  const store = openStore<JsonObject>({ directory, codec: objectCodec });
  for (const prefix of ["//pods/", "/apps/deployments/", "/apiextensions.k8s.io/customresourcedefinitions/"]) {
    for (const { key, value } of store.list({ prefix }).entries) {
      await store.write(key, ({ revision }) => ({ action: "put", value: withVersion(enlarged(value), revision) }));
    }
  }
  await store.close();
  server = await startTestServer({ directory });
});
after(() => server[Symbol.asyncDispose]());

async function change(method: string, url: string, body: JsonObject): Promise<[code: number, message: string]> {
  const headers = method === "PATCH" ? { "content-type": "application/merge-patch+json" } : {};
  const response = await server.send(url, { method, headers, body });
  const { message } = answerValue(response) as { readonly message?: string };
  return [response.code, message ?? ""];
}

const tooLarge = (path: string): [number, string] => [
  413,
  `Request entity too large: ${path} may have at most 10000 amounts`,
];

test("a Deployment with more amounts can be changed and replaced, but gets no more of them", async () => {
  const url = `${deployments}/d`;
  assert.deepEqual(await change("PATCH", url, { metadata: { labels: { a: "b" } } }), [200, ""]);
  const image = (count: number): JsonObject => ({
    spec: { template: { spec: { containers: [{ name: "c", image: "other", resources: resources(count) }] } } },
  });
  assert.deepEqual(await change("PATCH", url, image(10_001)), [200, ""]);
  assert.deepEqual(await change("PUT", url, await server.body(url)), [200, ""]);
  const path = "spec.template.spec.containers[0].resources.limits";
  assert.deepEqual(await change("PATCH", url, image(10_002)), tooLarge(path));
  assert.deepEqual(await change("PATCH", url, image(10_000)), [200, ""]);
  assert.deepEqual(await change("PATCH", url, image(10_001)), tooLarge(path), "it is as any other now");
  const { metadata: _, ...rest } = await server.body(url);
  const created = await change("POST", deployments, { ...enlarged(rest), metadata: { name: "e" } });
  assert.deepEqual(created, [201, ""], "10,000 are allowed");
});

test("a new Pod has as many amounts as it may", async () => {
  const spec = podSpec(10_001);
  assert.deepEqual(
    await change("POST", pods, { metadata: { name: "q" }, spec }),
    tooLarge("spec.containers[0].resources.limits"),
  );
});

test("a Pod with more amounts loses its finalizers, and is gone", async () => {
  const url = `${pods}/p`;
  assert.deepEqual(await change("PATCH", `${url}/status`, { status: { message: "m" } }), [200, ""]);
  assert.deepEqual(await change("PATCH", url, { metadata: { labels: { a: "b" } } }), [200, ""]);
  assert.deepEqual(await change("DELETE", url, { gracePeriodSeconds: 0 }), [200, ""]);
  assert.deepEqual(await change("PATCH", url, { metadata: { finalizers: null } }), [200, ""]);
  assert.equal((await server.send(url)).code, 404);
});

test("a definition with more names can be changed and deleted, but gets no more of them", async () => {
  const names = (count: number): JsonObject => ({ spec: { names: { shortNames: shortNames(count) } } });
  assert.deepEqual(await change("PATCH", definition, { metadata: { labels: { a: "b" } } }), [200, ""]);
  const [code, message] = await change("PATCH", definition, names(1002));
  assert.deepEqual([code, /spec\.names\.shortNames: Too many: 1002/.test(message)], [422, true], message);
  const status = { status: { conditions: [{ type: "Other", status: "True" }] } };
  assert.deepEqual(await change("PATCH", `${definition}/status`, status), [200, ""]);
  assert.deepEqual(await change("DELETE", definition, {}), [200, ""]);
  await server.until(definition, (response) => response.code === 404);
});
