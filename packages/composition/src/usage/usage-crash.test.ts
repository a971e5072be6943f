// SPDX-License-Identifier: Apache-2.0
// A controller of Usages that dies before or after each of its writes: the next one reaches the same end.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import type { ControllerClient, ControllerEngine } from "@purlin/kube-controller";
import { eventually, startTestServer } from "@purlin/kube-controller/testing";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { type ClientCall, intercepted, mortalClient } from "../../test/test-doubles.ts";
import { configMapType, refTo, UsageScene, usageType } from "../../test/usage-scene.ts";
import { createUsageControllers } from "./usage-controller.ts";
import { UsageIndex } from "./usage-index.ts";

let scene: UsageScene;
before(async () => {
  scene = await UsageScene.start(undefined, { isIdle: true });
});
after(() => scene[Symbol.asyncDispose]());

const engine = { isRunning: () => true, startWatches: async () => {} } as unknown as ControllerEngine;

interface PassOptions {
  readonly client: ControllerClient;
  readonly on?: UsageScene;
  readonly index?: UsageIndex;
}

/** One pass of the controller over a Usage, with this client. */
async function pass(usage: KubeObject, { client, on = scene, index = new UsageIndex() }: PassOptions): Promise<void> {
  const { items } = await on.users.list(usageType);
  for (const one of items) {
    const { namespace = "", name = "" } = one.metadata;
    index.written(`protection.crossplane.io/Usage/${namespace}/${name}`, one);
  }
  const deps = { client, engine, events: on.control.events, clock: systemClock, log: silentLog, index };
  const [controller] = createUsageControllers(deps);
  const stored = await on.find(usage);
  await eventually("the cache has the Usage", async () => {
    const cached = await on.control.client.get(usageType, keyOf(usage));
    return cached?.metadata.resourceVersion === stored?.metadata.resourceVersion;
  });
  await controller?.spec.reconcile(keyOf(usage), new AbortController().signal);
}

/** The life of a Usage whose object is to be deleted; the controller dies at a write. Resolves to the number of writes. */
async function live(at: number, when: "before" | "after"): Promise<number> {
  const namespace = await scene.namespace();
  const used = await scene.configMap(namespace, "used");
  await scene.configMap(namespace, "using");
  const usage = await scene.usage(namespace, { of: refTo("used"), by: refTo("using"), replayDeletion: true });
  const mortal = mortalClient(scene.control.client, at, when);
  const settle = async (): Promise<void> => {
    await pass(usage, mortal).catch(() => undefined);
    await pass(usage, scene.control);
  };
  await settle();
  await scene.denied(used);
  await scene.ready(usage);
  await scene.delete(usage);
  await settle();
  assert.equal(await scene.find(usage), undefined);
  assert.equal(await scene.find(used), undefined);
  return mortal.writes();
}

test("a controller that dies at any write leaves nothing behind, and the refused deletion is made", async () => {
  const writes = await live(Number.POSITIVE_INFINITY, "before");
  assert.ok(writes >= 8, `${writes} writes`);
  for (let at = 0; at < writes; at += 1) {
    await live(at, "before");
    await live(at, "after");
  }
});

suite("a replayed deletion, where the server does not know Usages", () => {
  let open: UsageScene;
  before(async () => {
    open = await UsageScene.start(await startTestServer(), { isIdle: true });
  });
  after(() => open[Symbol.asyncDispose]());

  /** Deletes the Usage of an object whose deletion was asked for; `meddle` is called before each write of the controller. */
  async function replay(meddle: (call: ClientCall, used: KubeObject, index: UsageIndex) => Promise<void>) {
    const namespace = await open.namespace();
    const annotations = { "usage.crossplane.io/deletion-attempt-with-policy": "Background" };
    const used = await open.configMap(namespace, "used", { annotations });
    const usage = await open.usage(namespace, { of: refTo("used"), reason: "r", replayDeletion: true });
    await pass(usage, { client: open.control.client, on: open });
    await open.delete(usage);
    const index = new UsageIndex();
    const isWrite = ({ method }: ClientCall): boolean => ["patch", "update", "delete"].includes(method);
    const client = intercepted(open.control.client, async (call) => {
      if (isWrite(call)) await meddle(call, used, index);
    });
    await pass(usage, { client, on: open, index }).catch(() => undefined);
    return { used, usage, index };
  }

  test("deletes the object", async () => {
    const { used, usage } = await replay(async () => {});
    assert.equal(await open.find(used), undefined);
    assert.equal(await open.find(usage), undefined);
  });

  test("does not delete an object that was created again since it was read", async () => {
    const { used, usage } = await replay(async ({ method }, { metadata: { namespace = "", name = "" }, ...one }) => {
      if (method !== "delete") return;
      await open.users.delete({ apiVersion: one.apiVersion, kind: one.kind, namespace, name });
      await open.configMap(namespace, name);
    });
    await pass(usage, { client: open.control.client, on: open });
    assert.notEqual((await open.find(used))?.metadata.uid, used.metadata.uid);
    assert.equal(await open.find(usage), undefined);
  });

  test("does not delete an object that another Usage protects since its label was removed", async () => {
    const { used, usage } = await replay(async ({ method, kind }, { metadata: { namespace = "" } }, index) => {
      if (method !== "update" || kind !== "Usage") return;
      const other = await open
        .usage(namespace, { of: refTo("used"), reason: "other" }, { name: "other" })
        .catch(() => {});
      if (other) index.written("other", other);
    });
    await pass(usage, { client: open.control.client, on: open });
    assert.equal((await open.find(used))?.metadata.deletionTimestamp, undefined);
    assert.equal(await open.find(usage), undefined);
  });

  test("does not delete an object that was labeled for another Usage that the controller does not see yet", async () => {
    let isLabeled = false;
    const { used } = await replay(async ({ method }, object) => {
      if (method !== "delete" || isLabeled) return;
      isLabeled = true;
      await open.edit(object, { metadata: { labels: { "crossplane.io/in-use": "true" } } });
    });
    assert.equal((await open.find(used))?.metadata.deletionTimestamp, undefined);
  });

  test("the label of an object that another Usage protects since it was counted is there when the Usage goes", async () => {
    const namespace = await open.namespace();
    const used = await open.configMap(namespace, "used");
    const usage = await open.usage(namespace, { of: refTo("used"), reason: "r" });
    await pass(usage, { client: open.control.client, on: open });
    await open.delete(usage);
    const index = new UsageIndex();
    let isProtected = false;
    const client = intercepted(open.control.client, async ({ method, kind }) => {
      if (method !== "patch" || kind !== "ConfigMap" || isProtected) return;
      isProtected = true;
      // It sees the label, and writes none.
      const other = await open.usage(namespace, { of: refTo("used"), reason: "other" });
      await pass(other, { client: open.control.client, on: open, index });
    });
    await pass(usage, { client, on: open, index });
    assert.ok(isProtected);
    assert.equal(await open.find(usage), undefined);
    assert.equal((await open.find(used))?.metadata.labels?.["crossplane.io/in-use"], "true");
  });

  test("is not made while it is unknown whether an owner exists, and the Usage goes", async () => {
    const namespace = await open.namespace();
    const annotations = {
      "usage.crossplane.io/deletion-attempt-with-policy": "Background",
      "purlin.dev/deletion-attempt-by": "garbage-collector",
    };
    const owner = { apiVersion: "gone.example.org/v1", kind: "Gone", name: "x", uid: "0" };
    const used = await open.configMap(namespace, "used", { annotations, ownerReferences: [owner] });
    const usage = await open.usage(namespace, { of: refTo("used"), reason: "r" });
    await pass(usage, { client: open.control.client, on: open });
    await open.delete(usage);
    await pass(usage, { client: open.control.client, on: open });
    assert.equal(await open.find(usage), undefined);
    assert.ok(await open.find(used));
  });
});

test("an object that is created again before it is labeled is labeled by the next pass, without a warning", async () => {
  const namespace = await scene.namespace();
  const used = await scene.configMap(namespace, "used");
  const usage = await scene.usage(namespace, { of: refTo("other"), reason: "r" });
  await scene.configMap(namespace, "other");
  await pass(usage, { client: scene.control.client });
  await scene.edit(usage, { spec: { of: { resourceRef: { name: "used" } } } });
  await scene.control.client.get(configMapType, keyOf(used));
  let isAgain = false;
  const client = intercepted(scene.control.client, async ({ method, name }) => {
    if (method !== "patch" || name !== "used" || isAgain) return;
    isAgain = true;
    // The used object cannot be deleted; one that is gone in another way may be created again.
    await scene.edit(usage, { spec: { of: { resourceRef: { name: "other" } } } });
    await scene.delete(used);
    await scene.configMap(namespace, "used");
    await scene.edit(usage, { spec: { of: { resourceRef: { name: "used" } } } });
  });
  await pass(usage, { client }).catch(() => undefined);
  assert.ok(isAgain);
  const about = `${usage.kind}/${usage.metadata.name}`;
  const warnings = scene.control.events.all.filter(({ object, event }) => object === about && event.type === "Warning");
  assert.deepEqual(warnings, []);
  await pass(usage, { client: scene.control.client });
  await scene.labeled(used);
});
