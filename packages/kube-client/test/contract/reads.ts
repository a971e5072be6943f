// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isBadRequest, isExpired, isGone, isNotFound } from "@purlin/kube-objects/errors";
import type { WatchEvent } from "@purlin/kube-objects/object";
import { isNoMatch } from "../../src/rest-mapper.ts";
import {
  type ContractCase,
  type ContractContext,
  configMap,
  configMapOf,
  dataOf,
  ownWidgets,
  versionOf,
} from "./contract-case.ts";

async function createThree(context: ContractContext): Promise<void> {
  for (const [name, app] of [
    ["a", "web"],
    ["b", "web"],
    ["c", "db"],
  ] as const) {
    await context.client.create(configMapOf(context, name, { labels: { app } }));
  }
}

/** What reads promise. */
export const reads: readonly ContractCase[] = [
  {
    name: "get answers with the stored object, frozen all the way down",
    async run(context) {
      const { client, namespace } = context;
      const created = await client.create(configMapOf(context, "a", { data: { x: "1" } }));
      const read = await client.get(configMap, { namespace, name: "a" });
      assert.deepEqual(read, created);
      assert.ok(Object.isFrozen(read) && Object.isFrozen(read.metadata) && Object.isFrozen(dataOf(read)));
    },
  },
  {
    name: "an object that is not there is a NotFound with its name in the details",
    async run({ client, namespace }) {
      await assert.rejects(client.get(configMap, { namespace, name: "none" }), (error) => {
        assert.ok(isNotFound(error));
        assert.equal((error as Error).message, 'configmaps "none" not found');
        return true;
      });
    },
  },
  {
    name: "a kind that is not served is a NoMatch, from every verb",
    async run({ client, namespace }) {
      const nonsense = { apiVersion: "example.org/v1", kind: "Nonsense" };
      const object = { ...nonsense, metadata: { name: "x", namespace } };
      await assert.rejects(client.get(nonsense, { name: "x" }), isNoMatch);
      await assert.rejects(client.list(nonsense), isNoMatch);
      await assert.rejects(client.create(object), isNoMatch);
      await assert.rejects(client.list({ apiVersion: "v1", kind: "Nonsense" }), isNoMatch);
    },
  },
  {
    name: "list selects by label and by field, and its items carry their type",
    async run(context) {
      const { client, namespace } = context;
      await createThree(context);
      const byLabel = await client.list(configMap, { namespace, labelSelector: "app in (web),app!=x" });
      assert.deepEqual(
        byLabel.items.map(({ kind, apiVersion, metadata }) => [apiVersion, kind, metadata.name]),
        [
          ["v1", "ConfigMap", "a"],
          ["v1", "ConfigMap", "b"],
        ],
      );
      const byField = await client.list(configMap, { namespace, fieldSelector: "metadata.name=c" });
      assert.deepEqual(names(byField.items), ["c"]);
      await assert.rejects(client.list(configMap, { namespace, labelSelector: "a b" }), isBadRequest);
    },
  },
  {
    name: "pages come one after the other, all from the version of the first",
    async run(context) {
      const { client, namespace } = context;
      await createThree(context);
      const selection = { namespace, labelSelector: "app" };
      const first = await client.list(configMap, { ...selection, limit: 2 });
      assert.deepEqual([names(first.items), typeof first.continue], [["a", "b"], "string"]);
      await client.create(configMapOf(context, "d", { labels: { app: "late" } }));
      const second = await client.list(configMap, { ...selection, limit: 2, continue: first.continue });
      assert.deepEqual([names(second.items), second.continue], [["c"], undefined]);
      assert.equal(second.resourceVersion, first.resourceVersion);
    },
  },
  {
    name: "a list at an exact version shows the past",
    async run(context) {
      const { client, namespace } = context;
      await createThree(context);
      const before = await client.list(configMap, { namespace, labelSelector: "app" });
      await client.delete({ ...configMap, namespace, name: "a" });
      const options = { namespace, labelSelector: "app", resourceVersion: before.resourceVersion } as const;
      const past = await client.list(configMap, { ...options, resourceVersionMatch: "Exact" });
      assert.deepEqual(names(past.items), ["a", "b", "c"]);
      const now = await client.list(configMap, { ...options, resourceVersionMatch: "NotOlderThan" });
      assert.deepEqual(names(now.items), ["b", "c"]);
    },
  },
  {
    name: "raw reaches what is not an object",
    async run({ client }) {
      const version = (await client.raw({ method: "GET", path: "/version" })) as { readonly major?: string };
      assert.equal(version.major, "1");
      assert.equal(await client.raw({ method: "GET", path: "/readyz" }), "ok");
      await assert.rejects(client.raw({ method: "GET", path: "/api/v1/nonsense" }), isNotFound);
    },
  },
  {
    name: "a call whose signal has aborted is not made",
    async run(context) {
      const { client, namespace } = context;
      const signal = AbortSignal.abort(new Error("never mind"));
      await assert.rejects(client.create(configMapOf(context, "a"), { signal }), /never mind|abort/i);
      await assert.rejects(client.get(configMap, { namespace, name: "a" }), isNotFound);
    },
  },
  {
    name: "a closed client sends no request",
    async run({ client, namespace }) {
      await client.close();
      await assert.rejects(client.list(configMap, { namespace }), /the client was closed/);
      await assert.rejects(client.watch(configMap, { namespace }), /the client was closed/);
    },
  },
];

function names(items: readonly { readonly metadata: { readonly name?: string | undefined } }[]): unknown[] {
  return items.map(({ metadata }) => metadata.name);
}

/** What watches promise. */
export const watches: readonly ContractCase[] = [
  {
    name: "a watch from a version emits everything after it, in order",
    async run(context) {
      const { client, namespace } = context;
      const first = await client.create(configMapOf(context, "a"));
      await changeMuch(context);
      const events = await client.watch(configMap, {
        namespace,
        resourceVersion: versionOf(first),
        signal: context.signal,
      });
      assert.deepEqual(await take(events, 4), ["ADDED b", "MODIFIED b", "DELETED b", "ADDED c"]);
    },
  },
  {
    name: "a watch emits changes, and only of selected objects",
    async run(context) {
      const { client, namespace, signal } = context;
      const { resourceVersion } = await client.list(configMap, { namespace });
      const events = await client.watch(configMap, { namespace, labelSelector: "app=x", resourceVersion, signal });
      await client.create(configMapOf(context, "other"));
      const one = await client.create(configMapOf(context, "a", { labels: { app: "x" } }));
      await client.update({ ...one, metadata: { ...one.metadata, labels: { app: "y" } } });
      await client.create(configMapOf(context, "b", { labels: { app: "x" } }));
      assert.deepEqual(await take(events, 3), ["ADDED a", "DELETED a", "ADDED b"]);
    },
  },
  {
    name: "initial events end with a bookmark that says so",
    async run(context) {
      const { client, namespace, signal } = context;
      await client.create(configMapOf(context, "a", { labels: { app: "x" } }));
      const events = await client.watch(configMap, {
        namespace,
        labelSelector: "app=x",
        sendInitialEvents: true,
        resourceVersionMatch: "NotOlderThan",
        allowWatchBookmarks: true,
        signal,
      });
      assert.deepEqual(await take(events, 2), ["ADDED a", "BOOKMARK end"]);
    },
  },
  {
    name: "a watch ends by itself when its time is over",
    async run({ client, namespace, signal }) {
      const { resourceVersion } = await client.list(configMap, { namespace });
      const events = await client.watch(configMap, { namespace, resourceVersion, timeoutSeconds: 1, signal });
      for await (const event of events) assert.fail(`nothing happened, yet there is ${event.type}`);
    },
  },
  {
    name: "a watch from a version that is forgotten fails, and says that it is",
    async run(context) {
      const { client, forget, signal } = context;
      const widget = await ownWidgets(context);
      await client.create({ ...widget, metadata: { name: "a" } });
      await forget();
      const watching = async (): Promise<void> => {
        const events = await client.watch(widget, { resourceVersion: "1", signal });
        for await (const event of events) assert.fail(`a compacted event was delivered: ${event.type}`);
      };
      await assert.rejects(watching(), (error) => isExpired(error) || isGone(error));
    },
  },
  {
    name: "a watch that is left, or whose signal aborts, is over",
    async run(context) {
      const { client, namespace } = context;
      const { resourceVersion } = await client.list(configMap, { namespace });
      const stop = new AbortController();
      const events = await client.watch(configMap, { namespace, resourceVersion, signal: stop.signal });
      const reading = take(events, 1);
      stop.abort(new Error("enough"));
      await reading.then(
        (seen) => assert.deepEqual(seen, []),
        (error: unknown) => assert.match(String(error), /enough|abort/i),
      );
    },
  },
];

async function changeMuch(context: ContractContext): Promise<void> {
  const { client, namespace } = context;
  const b = await client.create(configMapOf(context, "b"));
  await client.update({ ...b, data: { x: "1" } });
  await client.delete({ ...configMap, namespace, name: "b" });
  await client.create(configMapOf(context, "c"));
}

async function take(events: AsyncIterable<WatchEvent>, count: number): Promise<string[]> {
  const seen: string[] = [];
  for await (const event of events) {
    seen.push(
      event.type === "BOOKMARK"
        ? `BOOKMARK ${event.initialEventsEnd ? "end" : ""}`
        : `${event.type} ${event.object.metadata.name}`,
    );
    if (seen.length === count) break;
  }
  return seen;
}
