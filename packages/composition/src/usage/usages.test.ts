// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { manualClock } from "@purlin/base/testing";
import { createControllerEngine } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { testUsages } from "../../test/usage-cases.ts";
import { configMapType, legacyType, namespaceType, refTo, UsageScene } from "../../test/usage-scene.ts";
import { createUsageControllers } from "./usage-controller.ts";
import { UsageIndex, usageTypes } from "./usage-index.ts";
import { UsedObjects } from "./usage-objects.ts";
import { usageControllerName } from "./usage-watches.ts";

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
  const selectors: unknown[] = [];
  own.control.failWhen(({ path, query }) => {
    if (path === "/api/v1/configmaps") selectors.push(query?.["labelSelector"]);
    return undefined;
  });
  const account = { apiVersion: "v1", kind: "ServiceAccount" };
  await own.users.create({ ...account, metadata: { name: "using", namespace: "default" } });
  await own.configMap("default", "used");
  await own.ready(await own.usage("default", { of: refTo("used"), by: refTo("using", {}, account) }));
  assert.deepEqual(watched(), ["Used ConfigMap"], "the using object is read once");
  assert.deepEqual([...new Set(selectors)], ["crossplane.io/in-use=true"], "no other ConfigMap is listed or watched");
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

test("after a restart, an object that is created between the look for it and the wait for it is found", async () => {
  await using own = await UsageScene.start();
  const { client, engine, events } = own.control;
  const [, usage] = [
    await own.usage("default", { of: refTo("absent"), reason: "r" }),
    await own.usage("default", { of: refTo("racy"), reason: "r" }),
  ];
  assert.match(await own.unready(usage), /"racy" not found/);
  const controllers = usageTypes.map(usageControllerName);
  for (const name of controllers) await engine.stop(name);
  let isMade = false;
  const get: typeof client.live.get = (type, key, options) =>
    client.live.get(type, key, options).catch(async (error: unknown) => {
      if (key.name !== "racy" || isMade) throw error;
      isMade = true;
      await eventually("the kind is watched for the other Usage", () =>
        engine.watchesOf(controllers[0] ?? "").some(({ type: purpose }) => purpose === "Dependency"),
      );
      await own.configMap("default", "racy");
      // The watch has delivered it before the look fails.
      for (let turns = 0; turns < 50; turns++) await new Promise(setImmediate);
      throw error;
    });
  const racing = { ...client, live: { ...client.live, get } };
  const deps = { engine, events, clock: systemClock, log: silentLog, index: new UsageIndex() };
  for (const controller of createUsageControllers({ ...deps, client: racing })) await own.control.run(controller);
  await own.ready(usage);
  assert.ok(isMade);
});

test("after a restart, a Usage that is deleted does not release an object that one of a kind started later holds", async () => {
  await using own = await UsageScene.start(undefined, { isIdle: true });
  const clock = manualClock(Date.now());
  const { client, events, informers, users } = own.control;
  const engine = createControllerEngine({ informers, clock });
  try {
    const metadata = { name: own.name("ns"), labels: { "crossplane.io/in-use": "true" } };
    const used = await users.create({ ...namespaceType, metadata });
    const spec = { of: refTo(metadata.name, {}, namespaceType), reason: "r" };
    const usage = await own.clusterUsage(spec);
    await own.edit(usage, { metadata: { finalizers: ["usage.apiextensions.crossplane.io"] } });
    await own.delete(usage);
    await own.clusterUsage(spec, legacyType);
    const controllers = createUsageControllers({ client, engine, events, clock, log: silentLog, index: own.index });
    let reconciled = 0;
    for (const [index, { spec: controller, watches }] of controllers.entries()) {
      // The last kind is the one of the other Usage.
      if (index === 2) await eventually("the deleted Usage was reconciled", () => reconciled > 0);
      assert.ok(await own.find(usage), "it waits for the other kinds");
      const version = (await own.find(used))?.metadata.resourceVersion;
      assert.equal(version, used.metadata.resourceVersion, "nothing is written to the used object");
      const reconcile: typeof controller.reconcile = (...args) =>
        controller.reconcile(...args).finally(() => reconciled++);
      engine.start({ ...controller, reconcile });
      await engine.startWatches(controller.name, watches);
    }
    await eventually("the Usage goes", async () => {
      clock.advance(1000);
      return (await own.find(usage)) === undefined;
    });
    assert.equal((await own.find(used))?.metadata.labels?.["crossplane.io/in-use"], "true");
  } finally {
    await engine.close();
  }
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

test("a Usage goes although the kind of others is no longer served", async () => {
  await using own = await UsageScene.start(undefined, { isIdle: true });
  const { client, engine, events } = own.control;
  const gone = usageControllerName(legacyType);
  const missing = await own.users
    .list({ apiVersion: "gone.example.org/v1", kind: "Gone" })
    .catch((error: Error) => error);
  const startWatches: typeof engine.startWatches = (name, watches, signal) =>
    name === gone
      ? Promise.reject(new Error("cannot watch Usage", { cause: missing }))
      : engine.startWatches(name, watches, signal);
  const bound = (name: string | symbol): unknown => {
    const value: unknown = Reflect.get(engine, name);
    return typeof value === "function" ? value.bind(engine) : value;
  };
  const unserved = new Proxy(engine, { get: (_, name) => (name === "startWatches" ? startWatches : bound(name)) });
  const deps = { client, engine: unserved, events, clock: systemClock, log: silentLog, index: own.index };
  for (const controller of createUsageControllers(deps)) await own.control.run(controller);
  await own.configMap("default", "used");
  const usage = await own.ready(await own.usage("default", { of: refTo("used"), reason: "r" }));
  await own.delete(usage);
  await own.gone(usage);
});
