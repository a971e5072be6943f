// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { eventually } from "@purlin/kube-controller/testing";
import { testUsages } from "../testing/usage-cases.ts";
import { configMapType, UsageScene } from "../testing/usage-scene.ts";
import { UsedObjects } from "./usage-objects.ts";

let scene: UsageScene;
before(async () => {
  scene = await UsageScene.start();
});
after(() => scene[Symbol.asyncDispose]());

testUsages("Usages on the embedded API server", () => scene);

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
  const lease = objects.informers.acquire(configMapType);
  try {
    await lease.informer.ready();
    assert.deepEqual(await listed(), ["apiVersion,kind,metadata"]);
    const edited = await scene.edit(made, { data: { a: "y" } });
    const cached = await eventually("the change", () => {
      const found = lease.informer.get({ namespace, name: "large" });
      return found?.metadata.resourceVersion === edited.metadata.resourceVersion ? found : undefined;
    });
    assert.deepEqual([cached["data"], cached.metadata.managedFields], [undefined, undefined]);
    assert.equal(await objects.get(configMapType, { namespace, name: "large" }, signal), cached);
    await assert.rejects(objects.get(configMapType, { namespace, name: "none" }, signal), /"none" not found/);
  } finally {
    await lease.release();
  }
  assert.equal(scene.control.informers.peek(configMapType), undefined, "nothing caches whole ConfigMaps");
});
