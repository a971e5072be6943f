// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { startTestServer, type TestServer } from "@purlin/kube-builtin/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { answerValue } from "../testing/test-request.ts";
import { definitionsPath, widgetCrd } from "../testing/widget-crd.ts";

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

test("an APIService can be read and not written", async () => {
  await using server = await startTestServer();
  await server.until(`${apiServicesPath}/v1.apps`, ({ code }) => code === 200);
  const { metadata } = (await server.body(`${apiServicesPath}/v1.apps`)) as {
    readonly metadata: { readonly resourceVersion: string };
  };
  const body = { apiVersion: "apiregistration.k8s.io/v1", kind: "APIService", metadata: { name: "v1.example.org" } };
  for (const [method, path] of [
    ["POST", apiServicesPath],
    ["PUT", `${apiServicesPath}/v1.apps`],
    ["DELETE", `${apiServicesPath}/v1.apps`],
  ] as const) {
    const response = await server.send(path, { method, body });
    assert.equal(response.code, 405, `${method}: ${JSON.stringify(answerValue(response))}`);
  }
  const after = (await server.body(`${apiServicesPath}/v1.apps`)) as {
    readonly metadata: { readonly resourceVersion: string };
  };
  assert.equal(after.metadata.resourceVersion, metadata.resourceVersion);
});
