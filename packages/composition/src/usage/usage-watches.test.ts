// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog, systemClock } from "@purlin/base";
import type { ControllerEngine, WatchSpec } from "@purlin/kube-controller";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { configMapType, usageType } from "../../test/usage-scene.ts";
import { UsageIndex } from "./usage-index.ts";
import type { UsedObjects } from "./usage-objects.ts";
import { indexKey, UsageWatches } from "./usage-watches.ts";

const usage: KubeObject = {
  ...usageType,
  metadata: { name: "u", namespace: "ns", uid: "1" },
  spec: { of: { ...configMapType, resourceRef: { name: "used" } }, reason: "r" },
};
const used: KubeObject = { ...configMapType, metadata: { name: "used", namespace: "ns", uid: "2" } };

test("a Usage that has found its object is woken by each watch that sees it change or go", async () => {
  const specs: WatchSpec[] = [];
  const engine = {
    startWatches: async (_: string, watches: readonly WatchSpec[]) => void specs.push(...watches),
  } as unknown as ControllerEngine;
  const index = new UsageIndex();
  index.written(indexKey(usageType, keyOf(usage)), usage);
  const objects = {} as UsedObjects;
  const watches = new UsageWatches(usageType, { engine, clock: systemClock, log: silentLog, index, objects });
  const { signal } = new AbortController();
  await watches.start(usage, signal);
  await watches.awaitObject(usage, "of", signal);
  const [ofUsed, ofAwaited] = specs;
  const added = { type: "added", object: used } as const;
  const released = { ...used, metadata: { ...used.metadata, labels: {} } };
  const labeled = { ...used, metadata: { ...used.metadata, labels: { "crossplane.io/in-use": "true" } } };
  const updated = { type: "updated", object: released, previous: labeled } as const;
  const deleted = { type: "deleted", object: used } as const;
  const woken = [{ name: "u", namespace: "ns" }];
  assert.deepEqual([...(ofAwaited?.keys(added) ?? [])], woken, "it waits for the object");
  watches.settled(keyOf(usage));
  assert.deepEqual([...(ofAwaited?.keys(added) ?? [])], [], "it has found the object");
  // One of the watches is ahead: what the Usage reads then is what the other one has, so the other one wakes it as well.
  for (const change of [updated, deleted]) {
    for (const spec of [ofUsed, ofAwaited]) assert.deepEqual([...(spec?.keys(change) ?? [])], woken, change.type);
  }
  watches.forget(keyOf(usage));
});
