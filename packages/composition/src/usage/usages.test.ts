// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silentLog } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { eventually } from "@purlin/kube-controller/testing";
import { testUsages } from "../testing/usage-cases.ts";
import { configMapType, refTo, UsageScene } from "../testing/usage-scene.ts";
import { createUsageControllers } from "./usage-controller.ts";
import { UsedObjects } from "./usage-objects.ts";

let scene: UsageScene;
before(async () => {
  scene = await UsageScene.start();
});
after(() => scene[Symbol.asyncDispose]());

testUsages("Usages on the embedded API server", () => scene);

test("Usages watch used objects only, and all objects of a kind while one is awaited", async () => {
  await using own = await UsageScene.start(undefined, { isIdle: true });
  const clock = manualClock(Date.now());
  const { client, engine, events } = own.control;
  for (const controller of createUsageControllers({ client, engine, events, clock, log: silentLog, index: own.index }))
    await own.control.run(controller);
  const watched = (): string[] =>
    engine
      .watchesOf("usage/usage.protection.crossplane.io")
      .filter(({ object }) => object.kind !== "Usage")
      .map(({ type, object }) => `${type} ${object.kind}`);
  const account = { apiVersion: "v1", kind: "ServiceAccount" };
  await own.users.create({ ...account, metadata: { name: "using", namespace: "default" } });
  await own.configMap("default", "used");
  await own.ready(await own.usage("default", { of: refTo("used"), by: refTo("using", {}, account) }));
  assert.deepEqual(watched(), ["Used ConfigMap"], "the using object is read once");
  const waiting = await own.usage("default", { of: refTo("late"), by: refTo("absent", {}, account) });
  assert.match(await own.unready(waiting), /cannot get used: .*"late" not found/);
  assert.deepEqual(watched(), ["Used ConfigMap", "Dependency ConfigMap"]);
  await own.configMap("default", "late");
  await eventually("the using object is awaited", () => watched().includes("Dependency ServiceAccount"));
  clock.advance(3_600_000);
  assert.equal(watched().length, 3, "a Usage waits for as long as it takes");
  await own.users.create({ ...account, metadata: { name: "absent", namespace: "default" } });
  await own.ready(waiting);
  await eventually("the watches are not needed", () => {
    clock.advance(600_000);
    return watched().length === 1;
  });
  assert.deepEqual(watched(), ["Used ConfigMap"]);
});

test("used objects are cached without their contents, and kinds that are not watched are read from the server", async () => {
  const namespace = await scene.namespace();
  const { signal } = new AbortController();
  const labels = { l: "1" };
  const made = await scene.configMap(namespace, "large", { labels });
  await scene.edit(made, { data: { a: "x".repeat(1000) } });
  const objects = new UsedObjects(scene.users);
  const listed = (): Promise<readonly string[]> =>
    objects.list(configMapType, { labels, namespace, signal }).then((all) => all.map((one) => Object.keys(one).join()));
  assert.deepEqual(await listed(), ["apiVersion,kind,metadata"]);
  const lease = objects.awaited.acquire(configMapType);
  try {
    await lease.informer.ready();
    assert.deepEqual(await listed(), ["apiVersion,kind,metadata"]);
    const edited = await scene.edit(made, { data: { a: "y" } });
    const cached = await eventually("the change", () => {
      const found = lease.informer.get({ namespace, name: "large" });
      return found?.metadata.resourceVersion === edited.metadata.resourceVersion ? found : undefined;
    });
    assert.deepEqual([cached["data"], cached.metadata.managedFields], [undefined, []]);
    assert.equal(await objects.get(configMapType, { namespace, name: "large" }, signal), cached);
    await assert.rejects(objects.get(configMapType, { namespace, name: "none" }, signal), /"none" not found/);
  } finally {
    await lease.release();
  }
  assert.equal(scene.control.informers.peek(configMapType), undefined, "nothing caches whole ConfigMaps");
});
