// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { definitionsPath, widgetCrd } from "../../test/test-server.ts";

const apiServicesPath = "/apis/apiregistration.k8s.io/v1/apiservices";

const specOf = async (server: TestServer, name: string): Promise<JsonObject> =>
  ((await server.body(`${apiServicesPath}/${name}`)) as { readonly spec: JsonObject }).spec;

const rows: Record<string, { reason: string; want: JsonObject }> = {
  "v1.": {
    reason: "the core group comes first, and has no name",
    want: { version: "v1", groupPriorityMinimum: 18_000, versionPriority: 1 },
  },
  "v1.apps": {
    reason: "then workloads",
    want: { group: "apps", version: "v1", groupPriorityMinimum: 17_800, versionPriority: 15 },
  },
  "v1.coordination.k8s.io": {
    reason: "a group with dots",
    want: { group: "coordination.k8s.io", version: "v1", groupPriorityMinimum: 16_500, versionPriority: 15 },
  },
};

test("every built-in version has an APIService that says it is here", async () => {
  await using server = await startTestServer();
  for (const [name, { reason, want }] of Object.entries(rows)) {
    await server.until(`${apiServicesPath}/${name}`, ({ code }) => code === 200);
    assert.deepEqual(await specOf(server, name), want, reason);
  }
  const { status, metadata } = (await server.body(`${apiServicesPath}/v1.apps`)) as Record<
    string,
    Record<string, unknown>
  >;
  const [condition] = (status?.["conditions"] ?? []) as readonly JsonObject[];
  assert.deepEqual([condition?.["type"], condition?.["status"], condition?.["reason"]], ["Available", "True", "Local"]);
  assert.deepEqual(metadata?.["labels"], { "kube-aggregator.kubernetes.io/automanaged": "onstart" });
  const own = await server.send(`${apiServicesPath}/v1.apiregistration.k8s.io`);
  assert.equal(own.code, 404, "the group of APIServices itself has none");
});

test("versions of a definition come and go with it", async () => {
  await using server = await startTestServer();
  await server.post(definitionsPath, widgetCrd);
  const { group } = (widgetCrd as { readonly spec: { readonly group: string } }).spec;
  const path = `${apiServicesPath}/v1.${group}`;
  await server.until(path, ({ code }) => code === 200);
  const { spec, metadata } = (await server.body(path)) as Record<string, Record<string, unknown>>;
  assert.deepEqual([spec?.["groupPriorityMinimum"], spec?.["versionPriority"]], [1000, 100]);
  assert.deepEqual(metadata?.["labels"], { "kube-aggregator.kubernetes.io/automanaged": "true" });
  const { name } = (widgetCrd as { readonly metadata: { readonly name: string } }).metadata;
  await server.delete(`${definitionsPath}/${name}`);
  await server.until(path, ({ code }) => code === 404);
});

test("an APIService of a user stays when served versions change, and one of the server is restored", async () => {
  await using server = await startTestServer();
  await server.until(`${apiServicesPath}/v1.apps`, ({ code }) => code === 200);
  const spec = { group: "example.org", version: "v1", groupPriorityMinimum: 1, versionPriority: 1 };
  const own = {
    apiVersion: "apiregistration.k8s.io/v1",
    kind: "APIService",
    metadata: { name: "v1.example.org" },
    spec,
  };
  await server.post(apiServicesPath, own);
  await server.delete(`${apiServicesPath}/v1.apps`);
  await server.post(definitionsPath, widgetCrd);
  await server.until(`${apiServicesPath}/v1.apps`, ({ code }) => code === 200);
  assert.deepEqual(await specOf(server, "v1.example.org"), spec);
});
