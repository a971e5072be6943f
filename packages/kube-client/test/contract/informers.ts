// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { isNotFound } from "@purlin/kube-objects/errors";
import { type KubeObject, keyOf, type WatchEvent } from "@purlin/kube-objects/object";
import type { KubeReader } from "../../src/client.ts";
import { type Informer, startInformer } from "../../src/informer.ts";
import { createInformerPool } from "../../src/informer-pool.ts";
import { isNoMatch } from "../../src/rest-mapper.ts";
import {
  type ContractCase,
  type ContractContext,
  configMap,
  configMapOf,
  dataOf,
  ownWidgets,
  widgetsCrd,
} from "./contract-case.ts";

const selected = { labels: { app: "x" } } as const;

/** What informers promise on a server that really forgets and really hangs up. */
export const informers: readonly ContractCase[] = [
  {
    name: "an informer holds what there is and follows what comes",
    async run(context) {
      const { client, namespace } = context;
      await client.create(configMapOf(context, "a", selected));
      await withInformer(selectedConfigMaps(context, client), context.signal, async (informer) => {
        assert.deepEqual(namesIn(informer), ["a"]);
        const received = until(informer, context.signal, () => informer.get({ namespace, name: "b" }) !== undefined);
        await client.create(configMapOf(context, "b", { ...selected, data: { x: "1" } }));
        await received;
        const changed = until(informer, context.signal, () => namesIn(informer).join() === "b");
        await client.delete({ ...configMap, namespace, name: "a" });
        await changed;
        assert.deepEqual(dataOf(informer.get({ namespace, name: "b" })), { x: "1" });
      });
    },
  },
  {
    name: "an informer whose watch is cut again and again misses nothing and lists once",
    async run(context) {
      const { client, namespace } = context;
      const flaky = cutting(client);
      const changes: string[] = [];
      await withInformer(selectedConfigMaps(context, flaky), context.signal, async (informer) => {
        informer.subscribe(({ type, object }) =>
          changes.push(`${type} ${object.metadata.name} ${JSON.stringify(dataOf(object) ?? {})}`),
        );
        const complete = until(informer, context.signal, () => changes.length === 6);
        for (const name of ["a", "b"]) {
          const one = await client.create(configMapOf(context, name, selected));
          await client.update({ ...one, data: { x: "1" } });
          await client.delete({ ...configMap, namespace, name });
        }
        await complete;
      });
      const story = (name: string): string[] => [
        `added ${name} {}`,
        `updated ${name} {"x":"1"}`,
        `deleted ${name} {"x":"1"}`,
      ];
      assert.deepEqual(changes, [...story("a"), ...story("b")]);
      assert.equal(flaky.lists, 1);
      assert.ok(flaky.watches >= 6, `${flaky.watches} watches`);
    },
  },
  {
    name: "an informer whose resource version expired lists again, and emits what it missed and nothing twice",
    async run(context) {
      const { client, forget, signal } = context;
      const widget = await ownWidgets(context);
      const widgetOf = (name: string): KubeObject => ({ ...widget, metadata: { name } });
      for (const name of ["goes", "changes", "stays"]) await client.create(widgetOf(name));
      const forgetful = forgetting(client);
      const changes: string[] = [];
      await withInformer(startInformer(forgetful, widget), signal, async (informer) => {
        informer.subscribe(({ type, object }) => changes.push(`${type} ${object.metadata.name}`));
        const complete = until(informer, signal, () => changes.length === 6);
        await forgetful.during(async () => {
          await client.delete({ ...widget, name: "goes" });
          await client.patch({ ...widget, name: "changes" }, { metadata: { labels: { x: "1" } } }, { type: "merge" });
          await client.create(widgetOf("comes"));
          await forget();
        });
        await complete;
        assert.equal(informer.lists, 2);
        const followed = until(informer, signal, () => changes.length === 7);
        await client.create(widgetOf("later"));
        await followed;
      });
      assert.deepEqual(changes.slice(0, 3).sort(), ["added changes", "added goes", "added stays"]);
      assert.deepEqual(changes.slice(3, 6).sort(), ["added comes", "deleted goes", "updated changes"]);
      assert.deepEqual(changes.slice(6), ["added later"]);
    },
  },
  {
    name: "a pool shares one informer among users of the same kind",
    async run(context) {
      const pool = createInformerPool(context.client);
      const [one, two] = [pool.acquire(configMap), pool.acquire(configMap)];
      assert.equal(one.informer, two.informer);
      await one.informer.synced(context.signal);
      const { namespace } = context;
      const seen = until(one.informer, context.signal, () => two.informer.get({ namespace, name: "a" }) !== undefined);
      await context.client.create(configMapOf(context, "a"));
      await seen;
      await one.release();
      await two.release();
      await pool.stop();
    },
  },
  {
    name: "an informer whose CRD is deleted is empty and says so, and is full again when the CRD is back",
    async run(context) {
      const { client, signal } = context;
      const crd = widgetsCrd(`widgets.${context.namespace}.example.org`);
      const widget = { apiVersion: `${context.namespace}.example.org/v1`, kind: "Widget" };
      await client.create(crd);
      const informer = startInformer(client, widget);
      try {
        await untilReady(informer, signal);
        const first = { ...widget, metadata: { name: "first" } };
        const seen = until(informer, signal, () => namesIn(informer).join() === "first");
        await client.create(first);
        await seen;
        const emptied = until(informer, signal, () => namesIn(informer).length === 0);
        await client.delete({ ...crd, name: crd.metadata.name ?? "" });
        await emptied;
        while (informer.isReady) await delay(20, undefined, { signal });
        await assert.rejects(client.list(widget), isNoMatch);
        await untilGone(context, crd);
        await client.create(crd);
        await untilReady(informer, signal);
        await client.create({ ...widget, metadata: { name: "second" } });
        while (namesIn(informer).join() !== "second") await delay(20, undefined, { signal });
      } finally {
        await informer.stop();
      }
    },
  },
];

async function untilReady(informer: Informer, signal: AbortSignal): Promise<void> {
  while (!informer.isReady) await informer.ready(signal).catch(() => delay(20, undefined, { signal }));
}

async function untilGone({ client, signal }: ContractContext, object: KubeObject): Promise<void> {
  for (;;) {
    const found = await client.get(object, keyOf(object)).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    if (found === undefined) return;
    await delay(20, undefined, { signal });
  }
}

/** Follows the selected ConfigMaps of the case. */
function selectedConfigMaps({ namespace }: ContractContext, reader: KubeReader): Informer {
  return startInformer(reader, configMap, { namespace, labelSelector: "app=x" });
}

async function withInformer(
  informer: Informer,
  signal: AbortSignal,
  use: (informer: Informer) => Promise<void>,
): Promise<void> {
  try {
    await informer.synced(signal);
    await use(informer);
  } finally {
    await informer.stop();
  }
}

/** A reader that hangs up after every event it passed on. */
function cutting(client: KubeReader): KubeReader & { readonly lists: number; readonly watches: number } {
  const counts = { lists: 0, watches: 0 };
  return {
    get lists() {
      return counts.lists;
    },
    get watches() {
      return counts.watches;
    },
    get: client.get,
    list(type, options) {
      counts.lists++;
      return client.list(type, options);
    },
    async watch(type, options) {
      counts.watches++;
      return firstOf(await client.watch(type, options));
    },
  };
}

/** A reader whose watch ends on request, and whose next watch starts at a version that is no longer available. */
function forgetting(client: KubeReader): KubeReader & { during(change: () => Promise<void>): Promise<void> } {
  let cut = new AbortController();
  let pause: Promise<void> = Promise.resolve();
  let isLost = false;
  return {
    get: client.get,
    list: client.list,
    async watch(type, options = {}) {
      await pause;
      const resourceVersion = isLost ? "1" : options.resourceVersion;
      isLost = false;
      const signals = [cut.signal, ...(options.signal === undefined ? [] : [options.signal])];
      return untilCut(await client.watch(type, { ...options, resourceVersion, signal: AbortSignal.any(signals) }), cut);
    },
    async during(change) {
      const { promise, resolve } = Promise.withResolvers<void>();
      pause = promise;
      isLost = true;
      const ended = cut;
      cut = new AbortController();
      ended.abort(new Error("cut"));
      await change().finally(resolve);
    },
  };
}

async function* untilCut(
  events: AsyncIterable<WatchEvent>,
  { signal }: AbortController,
): AsyncGenerator<WatchEvent, void, undefined> {
  try {
    yield* events;
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function* firstOf(events: AsyncIterable<WatchEvent>): AsyncGenerator<WatchEvent, void, undefined> {
  for await (const event of events) {
    yield event;
    return;
  }
}

function namesIn(informer: Informer): unknown[] {
  return informer
    .list()
    .map(({ metadata }) => metadata.name)
    .sort();
}

/** Resolves when `holds` returns true; called after every change of the informer. */
function until(informer: Informer, signal: AbortSignal, holds: () => boolean): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const unsubscribe = informer.subscribe(() => {
    // The subscriber that the condition leans on may come after this one.
    queueMicrotask(() => holds() && resolve());
  });
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return promise.finally(unsubscribe);
}
