// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { compositionCrds } from "@purlin/composition";
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

const schemaWith = (field: string): KubeObject["spec"] => ({
  openAPIV3Schema: {
    type: "object",
    properties: { spec: { type: "object", properties: { [field]: { type: "string" } } } },
  },
});
const crdWith = (field: string): KubeObject => ({
  ...definition("Namespaced"),
  spec: {
    ...(definition("Namespaced")["spec"] as object),
    versions: [{ name: "v1", served: true, storage: true, schema: schemaWith(field) }],
  },
});
const xrdWith = (field: string): KubeObject => ({
  apiVersion: "apiextensions.crossplane.io/v2",
  kind: "CompositeResourceDefinition",
  metadata: { name },
  spec: {
    group: "example.org",
    names: { plural: "widgets", kind: "Widget" },
    versions: [{ name: "v1", served: true, referenceable: true, schema: schemaWith(field) }],
  },
});

test("an object waits until the definition that is applied with it is served with its new schema", async () => {
  const server = await startTestServer();
  const client = createKubeClient(server.connect());
  const controller = createKubeClient(server.connect());
  for (const crd of compositionCrds()) await controller.create(crd);
  await eventually("XRDs are served", async () => {
    controller.mapper.forget();
    return controller.list(xrdWith("color")).then(
      () => true,
      () => false,
    );
  });
  /** What the controller of definitions does. */
  const serve = async (field: string): Promise<void> => {
    await controller.apply(crdWith(field), { fieldManager: "definitions", force: true });
    const { metadata } = await controller.get(xrdWith(field), { name });
    const condition = { type: "Established", status: "True", reason: "WatchingCompositeResource" };
    const conditions = [
      { ...condition, observedGeneration: metadata.generation ?? 0, lastTransitionTime: "2026-01-01T00:00:00Z" },
    ];
    const status = { ...xrdWith(field), status: { conditions } };
    await controller.apply(status, { fieldManager: "definitions", force: true, subresource: "status" });
  };
  const apply = (field: string): Promise<void> => {
    const objects = [{ ...widget, spec: { [field]: "set" } }, xrdWith(field)];
    const manifests = objects.map((object) => ({ object, file: "both.yaml", at: () => "both.yaml:1:1" }));
    return applyManifests(client, manifests, { waitMs: 60_000, signal: AbortSignal.timeout(60_000) });
  };
  await controller.create(xrdWith("color"));
  await serve("color");
  await apply("color");
  const applied = apply("size");
  await delay(300);
  await serve("size");
  await applied;
  await Promise.all([client.close(), controller.close()]);
  await server.stop();
});
