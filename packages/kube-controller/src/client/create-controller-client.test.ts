// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { type ManualClock, manualClock } from "@purlin/base/testing";
import { createInformerPool, isNoMatch, type KubeClient } from "@purlin/kube-client";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";
import { type EmbeddedCluster, eventually, startEmbeddedCluster } from "../../test/test-server.ts";
import { createCrd } from "../crd/crd.ts";
import { installCrds } from "../crd/install-crds.ts";
import { object, text } from "../crd/schema.ts";
import { type ClosableControllerClient, createControllerClient } from "./create-controller-client.ts";

const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const secret = { apiVersion: "v1", kind: "Secret" };
const widget = { apiVersion: "example.org/v1", kind: "Widget" };
const namespace = "default";
const map = (name: string, data: Record<string, string> = {}, labels?: Record<string, string>): KubeObject => ({
  ...configMap,
  metadata: { name, namespace, ...(labels && { labels }) },
  data,
});
const ours = { fieldManager: "us", force: true } as const;

interface Setting {
  readonly client: ClosableControllerClient;
  readonly cluster: EmbeddedCluster;
  readonly clock: ManualClock;
}

async function withClient(use: (setting: Setting) => Promise<void>): Promise<void> {
  await using cluster = await startEmbeddedCluster();
  const clock = manualClock();
  const client = createControllerClient({
    client: cluster.client,
    informers: cluster.informers,
    clock,
    idleMs: 600_000,
  });
  try {
    await use({ client, cluster, clock });
  } finally {
    await client.close();
  }
}

const names = (objects: readonly KubeObject[]): string[] => objects.map(({ metadata }) => metadata.name ?? "").sort();

test("reads come from one list and one watch, writes included at once", async () => {
  await withClient(async ({ client, cluster }) => {
    await cluster.client.create(map("a", { x: "1" }, { app: "one" }));
    const key = { namespace, name: "a" };
    assert.deepEqual((await client.get(configMap, key))?.["data"], { x: "1" });
    const reads = (): number => cluster.sent.filter((line) => line === "GET /api/v1/configmaps").length;
    await eventually("the list is followed by a watch", () => reads() === 2);
    const before = cluster.sent.length;
    for (let i = 2; i < 50; i++) {
      const read = await client.get(configMap, key);
      assert.ok(read);
      await client.update({ ...read, data: { x: String(i) } });
      assert.deepEqual((await client.get(configMap, key))?.["data"], { x: String(i) });
    }
    await client.create(map("b", {}, { app: "two" }));
    assert.deepEqual(names(await client.list(configMap, { namespace, labels: { app: "two" } })), ["b"]);
    assert.deepEqual(names(await client.list(configMap, { namespace, labels: { app: "one" } })), ["a"]);
    await client.patch({ ...configMap, ...key }, { metadata: { labels: { app: "two" } } }, { type: "merge" });
    assert.deepEqual(names(await client.list(configMap, { labels: { app: "two" } })), ["a", "b"]);
    assert.deepEqual(names(await client.list(configMap, { namespace: "other" })), []);
    await client.delete({ ...configMap, ...key });
    assert.equal(await client.get(configMap, key), undefined);
    assert.deepEqual(names(await client.list(configMap, { namespace, labels: { app: "two" } })), ["b"]);
    assert.ok(
      cluster.sent.slice(before).every((line) => !line.startsWith("GET ")),
      "no read reached the server",
    );
    await client.create(map("a", { x: "new" }));
    assert.deepEqual((await client.get(configMap, key))?.["data"], { x: "new" }, "one of the same name may follow");
  });
});

test("what others change is seen as well, and wins over what we wrote before", async () => {
  await withClient(async ({ client, cluster }) => {
    await client.list(configMap);
    const stored = await client.create(map("a", { x: "ours" }));
    await cluster.client.update({ ...stored, data: { x: "theirs" } });
    const data = async () => (await client.get(configMap, { namespace, name: "a" }))?.["data"];
    await eventually("their change is seen", async () => JSON.stringify(await data()) === '{"x":"theirs"}');
    await cluster.client.delete({ ...configMap, namespace, name: "a" });
    await eventually("their deletion is seen", async () => (await data()) === undefined);
  });
});

test("an object goes with its last finalizer", async () => {
  await withClient(async ({ client }) => {
    const key = { namespace, name: "held" };
    const created = await client.create({
      ...map("held"),
      metadata: { name: "held", namespace, finalizers: ["x.org/y"] },
    });
    await client.get(configMap, key);
    const answer = await client.delete({ ...configMap, ...key });
    const held = await client.get(configMap, key);
    assert.ok(held?.metadata.deletionTimestamp, "our own delete is seen at once");
    assert.deepEqual(held, answer);
    assert.equal(held.metadata.uid, created.metadata.uid);
    await client.update({ ...held, metadata: { ...held.metadata, finalizers: [] } });
    assert.equal(await client.get(configMap, key), undefined);
  });
});

test("a dry run, and a subresource of another kind, leave no trace", async () => {
  await withClient(async ({ client }) => {
    await client.list(configMap);
    await client.create(map("dry"), { dryRun: true });
    assert.equal(await client.get(configMap, { namespace, name: "dry" }), undefined);
    const account = { apiVersion: "v1", kind: "ServiceAccount", namespace, name: "default" };
    await client.create({ ...account, metadata: { name: "robot", namespace } });
    await client.list(account);
    const token = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "robot", namespace } };
    const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
    await client
      .create({ ...token, ...request, apiVersion: "v1", kind: "ServiceAccount" }, { subresource: "token" })
      .catch(() => {});
    assert.equal((await client.get(account, { namespace, name: "robot" }))?.kind, "ServiceAccount");
  });
});

test("Secrets are read live and kept nowhere", async () => {
  await withClient(async ({ client, cluster }) => {
    const key = { namespace, name: "s" };
    assert.equal(await client.get(secret, key), undefined);
    await client.create({ ...secret, metadata: { ...key, labels: { app: "x" } }, stringData: { password: "p" } });
    const before = cluster.sent.length;
    assert.deepEqual((await client.get(secret, key))?.["data"], { password: "cA==" });
    assert.deepEqual(names(await client.list(secret, { namespace, labels: { app: "x" } })), ["s"]);
    assert.deepEqual(names(await client.list(secret, { namespace, labels: { app: "y" } })), []);
    assert.deepEqual(cluster.sent.slice(before), [
      "GET /api/v1/namespaces/default/secrets/s",
      "GET /api/v1/namespaces/default/secrets",
      "GET /api/v1/namespaces/default/secrets",
    ]);
    assert.equal(cluster.informers.peek(secret), undefined);
  });
});

test("a cluster-scoped kind is found whatever namespace is named", async () => {
  await withClient(async ({ client }) => {
    const namespaces = { apiVersion: "v1", kind: "Namespace" };
    assert.equal((await client.get(namespaces, { name: "default", namespace: "x" }))?.metadata.name, "default");
    assert.ok(names(await client.list(namespaces, { namespace: "x" })).includes("default"));
    assert.equal(await client.get(configMap, { name: "kube-root-ca.crt" }), undefined, "which one?");
  });
});

test("a kind that is not served is reported as such, at first and after it is gone", async () => {
  await withClient(async ({ client, cluster }) => {
    await assert.rejects(client.get(widget, { name: "x" }), isNoMatch);
    await assert.rejects(client.list(widget), isNoMatch);
    assert.equal(cluster.informers.peek(widget), undefined, "it is no longer requested");
    await cluster.client.create(widgetCrd);
    const served = (): Promise<boolean> =>
      client.list(widget).then(
        () => true,
        () => false,
      );
    await eventually("it is served", served);
    await client.create({ ...widget, metadata: { name: "x" } });
    assert.ok(await client.get(widget, { name: "x" }));
    await cluster.client.delete({ ...widgetCrd, name: widgetCrd.metadata.name });
    await eventually("it is no longer served", async () => !(await served()));
    await assert.rejects(client.get(widget, { name: "x" }), isNoMatch);
    await eventually("it may come back", () =>
      cluster.client.create(widgetCrd).then(
        () => true,
        () => false,
      ),
    );
    await eventually("it is served again", served);
    assert.equal(await client.get(widget, { name: "x" }), undefined);
  });
});

test("a read gives up with its signal", async () => {
  await withClient(async ({ client }) => {
    const signal = AbortSignal.abort(new Error("enough"));
    await assert.rejects(client.get(configMap, { name: "x", namespace }, { signal }), /enough/);
  });
});

test("a type that is no longer read is no longer watched", async () => {
  await withClient(async ({ client, cluster, clock }) => {
    await client.list(configMap);
    clock.advance(540_000);
    await client.get(configMap, { name: "x", namespace });
    clock.advance(120_000);
    assert.ok(cluster.informers.peek(configMap) !== undefined, "it was read nine minutes in");
    clock.advance(660_000);
    assert.equal(cluster.informers.peek(configMap), undefined);
    assert.equal(
      await client.get(configMap, { name: "x", namespace }),
      undefined,
      "and is followed again when asked for",
    );
    assert.ok(cluster.informers.peek(configMap) !== undefined);
  });
});

test("a first list that takes long is waited for, whatever is tidied up meanwhile", async () => {
  await using cluster = await startEmbeddedCluster();
  const gate = Promise.withResolvers<void>();
  const slow: KubeClient = {
    ...cluster.client,
    list: async (...args) => {
      await gate.promise;
      return cluster.client.list(...args);
    },
  };
  const informers = createInformerPool(slow);
  const clock = manualClock();
  const client = createControllerClient({ client: slow, informers, clock, idleMs: 600_000 });
  const reading = client.get({ apiVersion: "v1", kind: "Namespace" }, { name: "default" });
  clock.advance(120_000);
  gate.resolve();
  assert.equal((await reading)?.metadata.name, "default");
  await client.close();
  await informers.stop();
});

test("an apply is sent once, then only when something would change", async () => {
  await withClient(async ({ client, cluster }) => {
    const wanted = map("a", { x: "1" });
    const first = await client.applyIfChanged(wanted, ours);
    assert.equal(first.sent, true);
    const again = await client.applyIfChanged(wanted, ours);
    assert.deepEqual([again.sent, again.object], [false, first.object], "at once, before any watch event");
    const rows = [
      { why: "another value", wanted: map("a", { x: "2" }), sent: true },
      { why: "one field more", wanted: map("a", { x: "2", y: "1" }), sent: true },
      { why: "the same", wanted: map("a", { y: "1", x: "2" }), sent: false },
      { why: "one field less", wanted: map("a", { y: "1" }), sent: true },
    ];
    for (const row of rows) assert.equal((await client.applyIfChanged(row.wanted, ours)).sent, row.sent, row.why);
    const other = { fieldManager: "other", force: true } as const;
    assert.equal((await client.applyIfChanged(map("a", { y: "1" }), other)).sent, true, "another owner");
    assert.equal((await client.applyIfChanged(map("a", { y: "1" }), other)).sent, false);
    assert.equal(
      (await client.applyIfChanged(map("a", { y: "1" }), ours)).sent,
      false,
      "shared ownership is not a change",
    );
    const writes = cluster.writes().length;
    await client.applyIfChanged(map("a", { y: "1" }), ours);
    assert.equal(cluster.writes().length, writes);
  });
});

test("an apply that the schema changes is sent once, and once more after the schema changed", async () => {
  await withClient(async ({ client, cluster }) => {
    const crdWith = (nullable: boolean): KubeObject =>
      createCrd({
        group: "example.org",
        kind: "Gadget",
        plural: "gadgets",
        versions: [
          {
            name: "v1",
            fields: { spec: object({ size: { ...text, default: "small", nullable } }) },
            columns: [],
            hasStatus: false,
          },
        ],
      });
    await installCrds(cluster.client, [crdWith(false)]);
    const gadget = { apiVersion: "example.org/v1", kind: "Gadget" };
    const wanted: KubeObject = { ...gadget, metadata: { name: "g" }, spec: { size: null } };
    const first = await client.applyIfChanged(wanted, ours);
    assert.deepEqual([first.sent, first.object["spec"]], [true, { size: "small" }]);
    assert.equal((await client.applyIfChanged(wanted, ours)).sent, false);
    await installCrds(cluster.client, [crdWith(true)]);
    const informer = cluster.informers.peek(gadget);
    const lists = informer?.lists ?? 0;
    informer?.relist();
    while ((informer?.lists ?? 0) === lists) await new Promise(setImmediate);
    const second = await client.applyIfChanged(wanted, ours);
    assert.deepEqual([second.sent, second.object["spec"]], [true, { size: null }]);
    assert.equal((await client.applyIfChanged(wanted, ours)).sent, false);
  });
});

test("a cluster-scoped object is found in every namespace, a namespaced one only in its own", async () => {
  await withClient(async ({ client, cluster }) => {
    await cluster.client.create(map("here", {}));
    const found = async (type: TypeRef, name: string, space: string): Promise<boolean> =>
      (await client.get(type, { name, namespace: space })) !== undefined;
    const namespaces = { apiVersion: "v1", kind: "Namespace" };
    assert.equal(await found(namespaces, "default", "other"), true);
    assert.equal((await client.list(namespaces, { namespace: "other" })).length > 0, true);
    assert.deepEqual(
      [await found(configMap, "here", namespace), await found(configMap, "here", "other")],
      [true, false],
    );
    assert.deepEqual(await client.list(configMap, { namespace: "other" }), []);
  });
});

test("beforeSend can stop an apply, and is not called when nothing would change", async () => {
  await withClient(async ({ client, cluster }) => {
    const asked: (string | undefined)[] = [];
    const beforeSend = async (current: KubeObject | undefined): Promise<void> => {
      asked.push(current?.metadata.name);
      if (asked.length === 3) throw new Error("no longer");
    };
    const apply = (x: string) => client.applyIfChanged(map("asked", { x }), { ...ours, beforeSend });
    await apply("1");
    await apply("1");
    await apply("2");
    await assert.rejects(apply("3"), { message: "no longer" });
    assert.deepEqual(asked, [undefined, "asked", "asked"]);
    const stored = await cluster.client.get(configMap, { namespace, name: "asked" });
    assert.deepEqual(stored["data"], { x: "2" });
  });
});

test("a foreign edit of an owned field costs exactly one write", async () => {
  await withClient(async ({ client, cluster }) => {
    const wanted = map("a", { x: "1" });
    const { object } = await client.applyIfChanged(wanted, ours);
    await cluster.client.update({ ...object, data: { x: "edited", z: "theirs" } });
    await eventually("the edit is seen", async () =>
      JSON.stringify((await client.get(configMap, { namespace, name: "a" }))?.["data"]).includes("edited"),
    );
    const outcome = await client.applyIfChanged(wanted, ours);
    assert.deepEqual([outcome.sent, outcome.object["data"]], [true, { x: "1", z: "theirs" }]);
    assert.equal((await client.applyIfChanged(wanted, ours)).sent, false);
  });
});

test("what the server does not take is sent once, until the object changes", async () => {
  await withClient(async ({ client, cluster }) => {
    await cluster.client.create(widgetCrd);
    // The main endpoint of a kind with a status subresource drops the status.
    const wanted = { ...widget, metadata: { name: "w" }, spec: { size: 1 }, status: { size: 1 } };
    const apply = async (object: KubeObject): Promise<boolean> => (await client.applyIfChanged(object, ours)).sent;
    await eventually("it is served", () =>
      client.list(widget).then(
        () => true,
        () => false,
      ),
    );
    assert.equal(await apply(wanted), true);
    assert.equal(await apply(wanted), false, "the object is still the one we got back");
    assert.equal(
      await apply({ status: { size: 1 }, spec: { size: 1 }, metadata: { name: "w" }, ...widget }),
      false,
      "in whatever order it is written",
    );
    const changed = { ...wanted, status: { size: 2 } };
    assert.equal(await apply(changed), true, "we want something else");
    assert.equal(await apply(changed), false);
    await client.patch({ ...widget, name: "w" }, { metadata: { labels: { by: "them" } } }, { type: "merge" });
    assert.equal(await apply(changed), true, "a user changed the object");
    assert.equal(await apply(changed), false);
    const { status: _status, ...fits } = wanted;
    assert.equal(await apply(fits), false, "without what is dropped there is nothing to remember");
  });
});

test("an apply of a Secret uses what the caller read, or reads it", async () => {
  await withClient(async ({ client, cluster }) => {
    const wanted = { ...secret, metadata: { name: "s", namespace }, data: { a: "cA==" } };
    const { object: observed } = await client.applyIfChanged(wanted, ours);
    const before = cluster.sent.length;
    assert.equal((await client.applyIfChanged(wanted, { ...ours, observed })).sent, false);
    assert.equal(cluster.sent.length, before, "no request at all");
    assert.equal((await client.applyIfChanged(wanted, ours)).sent, false);
    assert.deepEqual(cluster.sent.slice(before), ["GET /api/v1/namespaces/default/secrets/s"]);
  });
});

test("an observation older than our own write does not count", async () => {
  await withClient(async ({ client }) => {
    await client.list(configMap);
    const { object: old } = await client.applyIfChanged(map("a", { x: "1" }), ours);
    await client.applyIfChanged(map("a", { x: "2" }), ours);
    assert.equal((await client.applyIfChanged(map("a", { x: "1" }), { ...ours, observed: old })).sent, true);
  });
});

const widgetCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    scope: "Cluster",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { type: "object", properties: { size: { type: "integer" } } },
              status: { type: "object", properties: { size: { type: "integer" } } },
            },
          },
        },
      },
    ],
  },
};
