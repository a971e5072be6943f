// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { createKubeClient } from "@purlin/kube-client";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { KubeObject } from "@purlin/kube-objects/object";
import { applyManifests } from "./apply-manifests.ts";

const name = "widgets.example.org";
const definition = (scope: "Namespaced" | "Cluster"): KubeObject => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name },
  spec: {
    group: "example.org",
    scope,
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
});
const widget: KubeObject = { apiVersion: "example.org/v1", kind: "Widget", metadata: { name: "w" } };

test("a client that applies files again and again notices that a kind has another scope by now", async () => {
  const server = await startTestServer();
  const client = createKubeClient(server.connect());
  const others = createKubeClient(server.connect());
  const options = { waitMs: 60_000, signal: AbortSignal.timeout(60_000) };
  const manifest = { object: widget, file: "widget.yaml", at: () => "widget.yaml:1:1" };
  for (const scope of ["Namespaced", "Cluster", "Namespaced"] as const) {
    await others.create(definition(scope));
    await applyManifests(client, [manifest], options);
    others.mapper.forget();
    const { items } = await others.list(widget);
    assert.deepEqual(
      items.map(({ metadata }) => metadata.namespace),
      [scope === "Namespaced" ? "default" : undefined],
    );
    await others.delete({ ...definition(scope), name });
    const isGone = async (): Promise<boolean> =>
      (await ignoreNotFound(others.get(definition(scope), { name }))) === undefined;
    await eventually("the definition is deleted", isGone);
  }
  await Promise.all([client.close(), others.close()]);
  await server.stop();
});
