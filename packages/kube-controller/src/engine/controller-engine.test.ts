// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { manualClock } from "@purlin/base/testing";
import { type CacheChange, createInformerPool, isNoMatch, type KubeClient } from "@purlin/kube-client";
import { keyOf, type ObjectKey } from "@purlin/kube-objects/object";
import { Registry } from "prom-client";
import { type EmbeddedCluster, eventually, startEmbeddedCluster } from "../../test/test-server.ts";
import type { ControllerEngine, WatchSpec } from "./controller-engine.ts";
import { type ControllerEngineOptions, createControllerEngine } from "./create-controller-engine.ts";

const configMap = { apiVersion: "v1", kind: "ConfigMap" };
const widget = { apiVersion: "example.org/v1", kind: "Widget" };
const self = (type: string, object = configMap): WatchSpec => ({
  type,
  object,
  keys: ({ object: one }: CacheChange) => (one.metadata.namespace === "default" ? [keyOf(one)] : []),
});

async function withEngine(
  use: (engine: ControllerEngine, cluster: EmbeddedCluster) => Promise<void>,
  options: Partial<ControllerEngineOptions> = {},
): Promise<void> {
  await using cluster = await startEmbeddedCluster();
  const engine = createControllerEngine({ informers: cluster.informers, ...options });
  try {
    await use(engine, cluster);
  } finally {
    await engine.close();
  }
}

function recording(): { seen: string[]; reconcile: (key: ObjectKey) => Promise<object> } {
  const seen: string[] = [];
  return {
    seen,
    async reconcile({ name }) {
      seen.push(name);
      return {};
    },
  };
}

const create = ({ client }: EmbeddedCluster, name: string) =>
  client.create({ ...configMap, metadata: { name, namespace: "default" } });

test("a watch that searches many objects for its keys lets other work run, and takes one change after the other", async () => {
  await withEngine(async (engine, cluster) => {
    const { seen, reconcile } = recording();
    const searches: string[] = [];
    function* search({ object }: CacheChange): Generator<ObjectKey | undefined> {
      const { name = "" } = object.metadata;
      if (object.metadata.namespace !== "default") return;
      searches.push(`${name} begins`);
      for (let part = 0; part < 4; part++) {
        const until = performance.now() + 12;
        while (performance.now() < until);
        yield undefined;
      }
      searches.push(`${name} ends`);
      yield keyOf(object);
    }
    engine.start({ name: "test", reconcile });
    await engine.startWatches("test", [{ type: "Search", object: configMap, keys: search }]);
    let turns = 0;
    const count = setInterval(() => turns++, 0);
    await Promise.all(["a", "b"].map((name) => create(cluster, name)));
    await eventually("both are reconciled", () => seen.length === 2);
    clearInterval(count);
    assert.ok(turns >= 4, `${turns} turns`);
    const [first, second] = seen;
    assert.deepEqual(searches, [`${first} begins`, `${first} ends`, `${second} begins`, `${second} ends`]);
  });
});

test("existing objects are delivered in parts, before changes, and all before the first is reconciled", async () => {
  await withEngine(async (engine, cluster) => {
    const names = ["a", "b", "c", "d"];
    await Promise.all(names.map((name) => create(cluster, name)));
    const [delivered, reconciled]: [string[], number[]] = [[], []];
    let late: Promise<unknown> | undefined;
    const keys = ({ object }: CacheChange): ObjectKey[] => {
      const { name = "" } = object.metadata;
      if (!/^[a-z]$/.test(name)) return [];
      late ??= create(cluster, "z");
      const until = performance.now() + 12;
      while (performance.now() < until);
      delivered.push(name);
      return [keyOf(object)];
    };
    engine.start({
      name: "test",
      async reconcile() {
        reconciled.push(delivered.length);
        return {};
      },
    });
    let turns = 0;
    const count = setInterval(() => turns++, 0);
    await engine.startWatches("test", [{ type: "Slow", object: configMap, keys }]);
    clearInterval(count);
    assert.deepEqual(delivered.slice(0, 4).sort(), names);
    assert.ok(turns >= 3, `${turns} turns`);
    await late;
    await eventually("all are reconciled", () => reconciled.length >= 5);
    assert.equal(delivered.indexOf("z"), 4);
    assert.ok((reconciled[0] ?? 0) >= 4, `${reconciled[0]} were delivered`);
  });
});

test("a watch emits existing objects, then changes, until it is stopped", async () => {
  await withEngine(async (engine, cluster) => {
    const { seen, reconcile } = recording();
    await create(cluster, "before");
    engine.start({ name: "test", reconcile });
    await engine.startWatches("test", [self("Self")]);
    await eventually("the object that was there is looked at", () => seen.includes("before"));
    await create(cluster, "after");
    await eventually("the new object is looked at", () => seen.includes("after"));
    await engine.stopWatches("test", [self("Self"), self("Other")]);
    assert.deepEqual(engine.watchesOf("test"), []);
    assert.equal(cluster.informers.peek(configMap), undefined, "the informer is not needed");
    await create(cluster, "late");
    engine.enqueue("test", { name: "enqueued" });
    await eventually("the controller itself continues", () => seen.includes("enqueued"));
    assert.ok(!seen.includes("late"));
  });
});

test("controllers share one informer a type, and starting again costs nothing", async () => {
  await withEngine(async (engine, cluster) => {
    const [one, two] = [recording(), recording()];
    engine.start({ name: "one", reconcile: one.reconcile });
    engine.start({ name: "two", reconcile: two.reconcile });
    engine.start({ name: "two", reconcile: () => Promise.reject(new Error("not this one")) });
    await Promise.all([
      engine.startWatches("one", [self("A"), self("B")]),
      engine.startWatches("one", [self("A")]),
      engine.startWatches("two", [self("A")]),
    ]);
    await engine.startWatches("two", [self("A")]);
    assert.equal(cluster.sent.filter((line) => line === "GET /api/v1/configmaps").length, 2, "one list and one watch");
    assert.deepEqual(
      engine.watchesOf("one").map(({ type }) => type),
      ["A", "B"],
    );
    await create(cluster, "x");
    await eventually("both get events", () => one.seen.length > 0 && two.seen.length > 0);
    await engine.stop("one");
    assert.ok(cluster.informers.peek(configMap) !== undefined);
    assert.deepEqual([engine.isRunning("one"), engine.isRunning("two")], [false, true]);
    await create(cluster, "y");
    await eventually("the other one gets events", () => two.seen.includes("y"));
    assert.ok(!one.seen.includes("y"));
  });
});

test("calls for a controller that does not run", async () => {
  await withEngine(async (engine) => {
    await assert.rejects(engine.startWatches("none", [self("A")]), /controller "none" is not running/);
    await assert.rejects(engine.stopWatches("none", [self("A")]), /controller "none" is not running/);
    engine.enqueue("none", { name: "a" });
    await engine.stop("none");
    assert.deepEqual([engine.watchesOf("none"), engine.isRunning("none")], [[], false]);
    await engine.close();
    assert.throws(() => engine.start({ name: "x", reconcile: async () => ({}) }), /the engine is closed/);
  });
});

test("a type that is not served is named; the watches that could start stay; it can be asked for again", async () => {
  await withEngine(async (engine, cluster) => {
    const { seen, reconcile } = recording();
    engine.start({ name: "test", reconcile });
    const specs = [self("A", widget), self("B")];
    await assert.rejects(engine.startWatches("test", specs), (error) => {
      assert.ok(isNoMatch((error as Error).cause));
      assert.match(String(error), /cannot watch Widget \(example\.org\/v1\): no matches for kind/);
      return true;
    });
    assert.deepEqual(
      engine.watchesOf("test").map(({ type }) => type),
      ["B"],
    );
    assert.equal(cluster.informers.peek(widget), undefined);
    await cluster.client.create(widgetCrd);
    await eventually("the type is served", () =>
      engine.startWatches("test", specs).then(
        () => true,
        () => false,
      ),
    );
    await cluster.client.create({ ...widget, metadata: { name: "w", namespace: "default" } });
    await eventually("its objects are delivered", () => seen.includes("w"));
  });
});

test("a watch whose CRD is deleted delivers its objects as deleted, and resumes with the CRD by itself", async () => {
  await withEngine(async (engine, { client, informers }) => {
    const delivered: string[] = [];
    engine.start({ name: "test", reconcile: async () => ({}) });
    await client.create(widgetCrd);
    const spec: WatchSpec = {
      type: "A",
      object: widget,
      keys({ type, object }) {
        delivered.push(`${type} ${object.metadata.name}`);
        return [];
      },
    };
    const started = (): Promise<boolean> =>
      engine.startWatches("test", [spec]).then(
        () => true,
        () => false,
      );
    await eventually("the type is served", started);
    await client.create({ ...widget, metadata: { name: "one", namespace: "default" } });
    await eventually("the object is delivered", () => delivered.includes("added one"));
    await client.delete({ ...widgetCrd, name: "widgets.example.org" });
    await eventually(
      "all is gone",
      () => delivered.includes("deleted one") && informers.peek(widget)?.isReady === false,
    );
    await assert.rejects(engine.startWatches("test", [spec]), /cannot watch Widget/);
    assert.equal(engine.watchesOf("test").length, 1, "it waits for its type");
    await client.create(widgetCrd);
    await eventually("the type is served again", started);
    await client.create({ ...widget, metadata: { name: "two", namespace: "default" } });
    await eventually("objects are delivered again", () => delivered.includes("added two"));
  });
});

test("every object is delivered again each sync interval", async () => {
  const clock = manualClock();
  await withEngine(
    async (engine, cluster) => {
      for (const name of ["a", "b"]) await create(cluster, name);
      const delivered: string[] = [];
      engine.start({ name: "test", reconcile: async () => ({}) });
      const spec: WatchSpec = {
        type: "A",
        object: configMap,
        keys(change) {
          const { name, namespace } = change.object.metadata;
          if (namespace === "default" && change.type === "updated" && change.previous === change.object)
            delivered.push(name ?? "");
          return [];
        },
      };
      await engine.startWatches("test", [spec]);
      clock.advance(110_000);
      assert.deepEqual(delivered.filter((name) => name.length === 1).sort(), ["a", "b"]);
      clock.advance(110_000);
      assert.deepEqual(delivered.filter((name) => name.length === 1).sort(), ["a", "a", "b", "b"]);
    },
    { clock, resyncMs: 100_000 },
  );
});

test("many objects are delivered again a part at a time, and none that is gone meanwhile", async () => {
  const clock = manualClock();
  await withEngine(
    async (engine, cluster) => {
      const names = Array.from({ length: 1200 }, (_, i) => `o${i}`);
      await Promise.all(names.map((name) => create(cluster, name)));
      const delivered: string[] = [];
      engine.start({ name: "test", reconcile: async () => ({}) });
      const spec: WatchSpec = {
        type: "A",
        object: configMap,
        keys(change) {
          const isAgain = change.type === "updated" && change.previous === change.object;
          if (isAgain && /^o\d+$/.test(change.object.metadata.name ?? ""))
            delivered.push(change.object.metadata.name ?? "");
          return [];
        },
      };
      await engine.startWatches("test", [spec]);
      clock.advance(110_000);
      assert.ok(delivered.length > 0 && delivered.length <= 500, `${delivered.length} at once`);
      await eventually("all are delivered", () => delivered.length >= 1200);
      assert.equal(new Set(delivered).size, 1200);
      delivered.length = 0;
      clock.advance(110_000);
      await engine.stop("test");
      const atStop = delivered.length;
      await new Promise((resolve) => setImmediate(resolve));
      assert.equal(delivered.length, atStop, "a stopped watch delivers nothing more");
    },
    { clock, resyncMs: 100_000 },
  );
});

test("a mapping that fails does not affect other watches", async () => {
  const logged: string[] = [];
  const log = { debug() {}, info() {}, error: (message: string) => void logged.push(message) };
  await withEngine(
    async (engine, cluster) => {
      const { seen, reconcile } = recording();
      engine.start({ name: "test", reconcile });
      const broken: WatchSpec = {
        ...self("Broken"),
        keys() {
          throw new Error("boom");
        },
      };
      await engine.startWatches("test", [broken, self("Fine")]);
      await create(cluster, "x");
      await eventually("the other watch gets events", () => seen.includes("x"));
      assert.ok(logged.includes("cannot map a watch event"));
    },
    { log },
  );
});

test("a controller that is started again waits for the end of the one before", async () => {
  await withEngine(async (engine) => {
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    engine.start({
      name: "test",
      async reconcile() {
        order.push("old begins");
        await gate.promise;
        order.push("old ends");
        return {};
      },
    });
    engine.enqueue("test", { name: "a" });
    await eventually("the old one works", () => order.length === 1);
    const stopped = engine.stop("test");
    engine.start({
      name: "test",
      async reconcile() {
        order.push("new begins");
        return {};
      },
    });
    engine.enqueue("test", { name: "a" });
    await new Promise((resolve) => setImmediate(resolve));
    gate.resolve();
    await stopped;
    await eventually("the new one works", () => order.length === 3);
    assert.deepEqual(order, ["old begins", "old ends", "new begins"]);
  });
});

test("a reconcile that is under way when its controller is stopped asks for watches in vain, and does not fail", async () => {
  await withEngine(async (engine) => {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<void>();
    engine.start({
      name: "test",
      async reconcile() {
        begun.resolve();
        await gate.promise;
        const asked = engine.startWatches("test", [self("Late")]);
        await asked.then(() => engine.stopWatches("test", [self("Late")])).then(ended.resolve, ended.reject);
        return {};
      },
    });
    engine.enqueue("test", { name: "a" });
    await begun.promise;
    const stopped = engine.stop("test");
    gate.resolve();
    await ended.promise;
    await stopped;
    assert.deepEqual(engine.watchesOf("test"), []);
    await assert.rejects(engine.startWatches("test", [self("Late")]), /is not running/, "afterwards it is a mistake");
  });
});

test("a caller may stop waiting for watches; they continue to start, and wake the controller when they have", async () => {
  await using cluster = await startEmbeddedCluster();
  const gate = Promise.withResolvers<void>();
  const list: KubeClient["list"] = async (type, options) => {
    await gate.promise;
    return cluster.client.list(type, options);
  };
  const informers = createInformerPool({ ...cluster.client, list });
  const engine = createControllerEngine({ informers });
  const { seen, reconcile } = recording();
  engine.start({ name: "test", reconcile });
  await create(cluster, "there");
  const impatient = new AbortController();
  const waiting = engine.startWatches("test", [self("Self")], impatient.signal);
  const patient = engine.startWatches("test", [self("Self")], new AbortController().signal);
  impatient.abort(new Error("no time"));
  await assert.rejects(waiting, /^Error: no time$/);
  await assert.rejects(engine.startWatches("test", [self("Self")], impatient.signal), /no time/);
  gate.resolve();
  await patient;
  await eventually("what was there is looked at", () => seen.includes("there"));
  // Nothing is waited for, whatever the signal says.
  await engine.startWatches("test", [self("Self")], impatient.signal);
  await engine.close();
  await informers.stop();
});

test("metrics have the names that dashboards use", async () => {
  const registry = new Registry();
  await withEngine(
    async (engine, cluster) => {
      const { seen, reconcile } = recording();
      engine.start({ name: "composite/x", reconcile, concurrency: 7 });
      await engine.startWatches("composite/x", [self("CompositeResource")]);
      await create(cluster, "a");
      await eventually("the object is looked at", () => seen.includes("a"));
      const text = await registry.metrics();
      for (const line of [
        'engine_controllers_started_total{controller="composite/x"} 1',
        'engine_watches_started_total{controller="composite/x",type="CompositeResource"} 1',
        'controller_runtime_max_concurrent_reconciles{controller="composite/x"} 7',
        'controller_runtime_reconcile_total{controller="composite/x",result="success"}',
        'workqueue_adds_total{name="composite/x"}',
      ]) {
        assert.ok(text.includes(line), `${line} in\n${text}`);
      }
      await engine.stop("composite/x");
      const after = await registry.metrics();
      assert.ok(after.includes('engine_watches_stopped_total{controller="composite/x",type="CompositeResource"} 1'));
      assert.ok(after.includes('engine_controllers_stopped_total{controller="composite/x"} 1'));
      assert.ok(!after.includes('workqueue_depth{name="composite/x"}'), "a gauge of something gone");
    },
    { registry },
  );
});

const widgetCrd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.org" },
  spec: {
    group: "example.org",
    scope: "Namespaced",
    names: { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
    versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } }],
  },
};
