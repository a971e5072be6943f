// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { createInformerPool } from "@purlin/kube-client";
import { eventually } from "@purlin/kube-controller/testing";
import type { KubeObject } from "@purlin/kube-objects/object";
import { startEmbeddedApi } from "../test/embedded-api.ts";
import { followCrds } from "./follow-crds.ts";

const widget = { apiVersion: "example.org/v1", kind: "Widget" };
const name = "widgets.example.org";

const widgetCrd = (scope: "Namespaced" | "Cluster"): KubeObject => ({
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

test("cached facts about a kind are dropped when its CRD changes, and waiting readers continue at once", async () => {
  await using api = await startEmbeddedApi();
  const client = api.connect();
  const informers = createInformerPool(client);
  await api.users.create(widgetCrd("Namespaced"));
  const changes: string[] = [];
  const onChange = (kinds: readonly string[], isGone: boolean): void => {
    changes.push(...kinds.map((kind) => (isGone ? `${kind} is gone` : kind)));
  };
  const stop = await followCrds({ informers, mapper: client.mapper, clock: systemClock, log: silentLog, onChange });
  const scope = async (): Promise<string> =>
    (await client.mapper.mapping(widget)).namespaced ? "Namespaced" : "Cluster";
  await eventually("it is served", async () => (await scope()) === "Namespaced");
  const { informer, release } = informers.acquire(widget);
  await eventually("its objects are known", async () => informer.ready().then(() => true));
  changes.length = 0;

  await api.users.delete({ ...widgetCrd("Cluster"), name });
  await eventually("the kind has gone", async () => !informer.isReady);
  await eventually("its name is free", () => api.users.create(widgetCrd("Cluster")));
  await eventually("it is found elsewhere", async () => (await scope()) === "Cluster");
  assert.ok(changes.includes("example.org/v1/Widget"), changes.join());
  assert.ok(changes.includes("example.org/v1/Widget is gone"), changes.join());
  await api.users.create({ ...widget, metadata: { name: "w" } });
  // No reader waits for the informer: the change of the CRD starts its list.
  await eventually("its objects are known again", async () => informer.get({ name: "w" }) !== undefined);

  await stop();
  const before = changes.length;
  await api.users.delete({ ...widgetCrd("Cluster"), name });
  await eventually("the kind has gone", async () => !informer.isReady);
  assert.equal(changes.length, before, "a stopped follower gets no changes");
  await release();
  await informers.stop();
});

test("a server without CRDs cannot be followed", async () => {
  await using api = await startEmbeddedApi();
  const client = api.connect();
  const informers = createInformerPool({ ...client, list: () => Promise.reject(new Error("no such thing")) });
  await assert.rejects(
    followCrds({ informers, mapper: client.mapper, clock: systemClock, log: silentLog, onChange() {} }),
    /no such thing/,
  );
  assert.equal(informers.peek({ apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" }), undefined);
});
