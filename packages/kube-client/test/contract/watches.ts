// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { isExpired, isGone } from "@purlin/kube-objects/errors";
import type { WatchEvent } from "@purlin/kube-objects/object";
import { type ContractCase, type ContractContext, configMap, configMapOf, versionOf } from "./contract-case.ts";
import { ownWidgets } from "./own-widgets.ts";

/** What watches promise. */
export const watches: readonly ContractCase[] = [
  {
    name: "a watch from a version tells everything after it, in order",
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
    name: "a watch tells what comes, and only what is selected",
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
