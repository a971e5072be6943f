// SPDX-License-Identifier: Apache-2.0
// What a composite resource says about a composed resource that it wants to delete and that is in use.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import { createControllerEngine, installCrds } from "@purlin/kube-controller";
import { eventually } from "@purlin/kube-controller/testing";
import { conditionOf, conditionsOf, keyOf } from "@purlin/kube-objects/object";
import { type CompositeBench, configMap, createCompositeBench } from "../../test/composite-bench.ts";
import { cacheDefinition } from "../../test/definitions.ts";
import { RecordedEvents, startTestCluster, type TestCluster } from "../../test/test-control.ts";
import { refTo, usageType } from "../../test/usage-scene.ts";
import { keptCrds } from "../crds/composition-crds.ts";
import { createUsageGuard } from "./definition-guard.ts";
import { createUsageControllers } from "./usage-controller.ts";
import { UsageIndex } from "./usage-index.ts";

let cluster: TestCluster;
let bench: CompositeBench;
before(async () => {
  cluster = await startTestCluster({ guardDelete: createUsageGuard() });
  await installCrds(cluster.kube, keptCrds());
  bench = createCompositeBench(cluster, await cluster.define(cacheDefinition("Cluster")));
  await bench.compositionOf("maps", ["f"]);
});
after(() => cluster[Symbol.asyncDispose]());

test("a composed resource in use that is no longer desired is reported, stays, and goes with its Usage", async () => {
  const held = configMap({}, { namespace: "default" });
  bench.functions.set("f", { resources: { held, a: held, b: held, c: held } });
  await bench.xr("shop", { crossplane: { compositionRef: { name: "maps" } } });
  await bench.reconcile("shop");
  const maps = { apiVersion: "v1", kind: "ConfigMap" };
  const { items } = await cluster.kube.list(maps, {
    namespace: "default",
    labelSelector: "crossplane.io/composite=shop",
  });
  const isHeld = ({ metadata }: (typeof items)[number]): boolean =>
    metadata.annotations?.["crossplane.io/composition-resource-name"] === "held";
  const key = { namespace: "default", name: items.find(isHeld)?.metadata.name ?? "" };
  const usage = await cluster.kube.create({
    ...usageType,
    metadata: { namespace: "default", name: "u" },
    spec: { of: refTo(key.name), reason: "needed" },
  });
  bench.functions.set("f", { resources: { a: held, b: held, c: held } });
  bench.takeEvents();
  const text =
    /cannot garbage collect composed resources that are no longer desired: .*denied the request: This resource is in-use by 1 usage/;
  await assert.rejects(bench.reconcile("shop"), text);
  const { status, reason, message } = await bench.condition("shop", "Synced");
  assert.deepEqual([status, reason], ["False", "ReconcileError"]);
  assert.match(message ?? "", text);
  assert.equal(bench.takeEvents().filter((line) => line.includes(" Warning ")).length, 1);
  const object = await cluster.kube.get(maps, key);
  assert.equal(object.metadata.annotations?.["usage.crossplane.io/deletion-attempt-with-policy"], "Foreground");
  await cluster.kube.delete({ ...usageType, namespace: "default", name: usage.metadata.name ?? "" });
  await bench.reconcile("shop");
  assert.equal((await bench.condition("shop", "Synced")).status, "True");
  await assert.rejects(
    cluster.kube.get(maps, key).then(({ metadata }) => {
      if (metadata.deletionTimestamp) throw new Error("is going");
    }),
  );
});

test("a Usage that is no longer composed does not wait for the using object", async (t) => {
  const engine = createControllerEngine({ informers: cluster.informers });
  t.after(() => engine.close());
  const { client, kube } = cluster;
  const log = silentLog;
  const deps = { client, engine, events: new RecordedEvents(), clock: systemClock, log, index: new UsageIndex() };
  for (const { spec, watches } of createUsageControllers(deps)) {
    engine.start(spec);
    await engine.startWatches(spec.name, watches);
  }
  const maps = { apiVersion: "v1", kind: "ConfigMap" };
  for (const name of ["used", "using"]) await kube.create({ ...maps, metadata: { namespace: "default", name } });
  const composed = {
    ...usageType,
    metadata: { namespace: "default" },
    spec: { of: refTo("used"), by: refTo("using") },
  };
  const kept = configMap({}, { namespace: "default" });
  bench.functions.set("f", { resources: { usage: composed, kept } });
  await bench.xr("store", { crossplane: { compositionRef: { name: "maps" } } });
  await bench.reconcile("store");
  const labelSelector = "crossplane.io/composite=store";
  const usage = await eventually("the Usage is ready", async () => {
    const { items } = await kube.list(usageType, { namespace: "default", labelSelector });
    return items.find((one) => conditionOf(conditionsOf(one), "Ready").status === "True");
  });
  bench.functions.set("f", { resources: { kept } });
  await bench.seen(usageType, keyOf(usage));
  await bench.reconcile("store").catch(() => undefined);
  await eventually("the Usage is gone", async () => {
    await bench.reconcile("store").catch(() => undefined);
    const { items } = await kube.list(usageType, { namespace: "default" });
    return !items.some(({ metadata }) => metadata.uid === usage.metadata.uid);
  });
  await kube.get(maps, { namespace: "default", name: "using" });
  const events = deps.events.all.map(({ event }) => event.reason);
  assert.ok(!events.includes("WaitingUsingDeleted"), String(events));
});
