// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createInformerPool, createKubeClient } from "@purlin/kube-client";
import { createControllerClient } from "@purlin/kube-controller";
import { startTestServer } from "@purlin/kube-controller/testing";
import type { JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt } from "@purlin/kube-objects/object";
import { resolveReferences } from "./references.ts";

test("a namespaced resource refers to cluster-scoped objects, by name and by selector", async () => {
  await using closing = new AsyncDisposableStack();
  const server = await startTestServer();
  closing.defer(() => server.stop());
  const kube = createKubeClient(server.connect());
  closing.defer(() => kube.close());
  const informers = createInformerPool(kube);
  closing.defer(() => informers.stop());
  const client = createControllerClient({ client: kube, informers });
  closing.defer(() => client.close());
  const to = { apiVersion: "v1", kind: "Namespace" };
  await kube.create({ ...to, metadata: { name: "team", labels: { team: "a" } } });
  const spec = { field: "team", to, extract: ({ metadata }: KubeObject) => metadata.name };
  const { signal } = new AbortController();
  const resolve = async (forProvider: JsonObject): Promise<unknown> => {
    const metadata = { name: "x", namespace: "default" };
    const managed = { apiVersion: "example.org/v1", kind: "Thing", metadata, spec: { forProvider } };
    return memberAt(await resolveReferences(managed, [spec], { client, signal }), ["spec", "forProvider", "team"]);
  };
  assert.equal(await resolve({ teamRef: { name: "team" } }), "team");
  assert.equal(await resolve({ teamSelector: { matchLabels: { team: "a" } } }), "team");
});
