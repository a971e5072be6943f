// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CacheChange } from "@purlin/kube-client";
import type { JsonObject } from "@purlin/kube-objects/json";
import { controllerReference, type KubeObject, type ObjectKey } from "@purlin/kube-objects/object";
import { World } from "../../test/world.ts";
import { kinds } from "../kinds.ts";
import {
  claimChildren,
  setCondition,
  type UpdatedCondition,
  watchDependents,
  withoutCondition,
  withoutEmpty,
} from "./claim-children.ts";
import { selectorOf } from "./selection.ts";

const selector = { matchLabels: { app: "web" } };

function scene(): { readonly world: World; readonly owner: KubeObject } {
  const world = new World();
  return { world, owner: world.put(kinds.replicaSet, "web", { spec: { selector } }) };
}

const addPod = (world: World, name: string, metadata: JsonObject): KubeObject =>
  world.put(kinds.pod, name, { metadata: { labels: { app: "web" }, ...metadata } });
const ownedBy = (owner: KubeObject): JsonObject => ({ ownerReferences: [controllerReference(owner) as never] });
const claimed = async (world: World, owner: KubeObject): Promise<readonly (string | undefined)[]> =>
  (await claimChildren(world.deps, owner, kinds.pod)).map(({ metadata }) => metadata.name);

test("owned objects that match are kept without a write", async () => {
  const { world, owner } = scene();
  addPod(world, "a", ownedBy(owner));
  assert.deepEqual(await claimed(world, owner), ["a"]);
  assert.deepEqual(world.takeWrites(), []);
});

test("an object without a controller that matches is adopted, its other owners stay", async () => {
  const { world, owner } = scene();
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "x" };
  addPod(world, "a", { ownerReferences: [other] });
  assert.deepEqual(await claimed(world, owner), ["a"]);
  assert.deepEqual(world.get(kinds.pod, "a").metadata.ownerReferences, [other, controllerReference(owner)]);
});

test("an owned object that no longer matches is released, its other owners stay", async () => {
  const { world, owner } = scene();
  const other = { apiVersion: "v1", kind: "ConfigMap", name: "c", uid: "x" };
  addPod(world, "a", { labels: { app: "other" }, ownerReferences: [controllerReference(owner) as never, other] });
  assert.deepEqual(await claimed(world, owner), []);
  assert.deepEqual(world.get(kinds.pod, "a").metadata.ownerReferences, [other]);
});

test("objects that do not match, belong to others, are elsewhere or are being deleted are left alone", async () => {
  const { world, owner } = scene();
  const rival = world.put(kinds.replicaSet, "rival", {});
  addPod(world, "a", { labels: { app: "other" } });
  addPod(world, "b", ownedBy(rival));
  addPod(world, "c", { namespace: "elsewhere" });
  addPod(world, "d", { deletionTimestamp: "2026-01-01T00:00:00Z" });
  assert.deepEqual(await claimed(world, owner), []);
  assert.deepEqual(world.takeWrites(), []);
});

test("a workload that is being deleted neither adopts nor releases", async () => {
  const { world, owner } = scene();
  addPod(world, "a", {});
  addPod(world, "b", { labels: { app: "other" }, ...ownedBy(owner) });
  const leaving = world.change(kinds.replicaSet, "web", { metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } });
  assert.deepEqual(await claimed(world, leaving), ["b"]);
  assert.deepEqual(world.takeWrites(), []);
});

test("a change of a dependent reconciles its owner, before and after it", () => {
  const { world, owner } = scene();
  const other = world.put(kinds.replicaSet, "other", { spec: { selector: { matchLabels: { app: "other" } } } });
  const { keys: search } = watchDependents(world.deps.informers, kinds.replicaSet, kinds.pod);
  const keys = (change: CacheChange): readonly ObjectKey[] => [...search(change)].filter((one) => one !== undefined);
  const key = (name: string) => ({ namespace: "default", name });
  const owned = addPod(world, "a", ownedBy(owner));
  const moved = addPod(world, "b", ownedBy(other));
  assert.deepEqual(keys({ type: "added", object: owned } as never), [key("web")]);
  assert.deepEqual(keys({ type: "updated", object: moved, previous: owned } as never), [key("other"), key("web")]);
  const orphan = addPod(world, "c", {});
  assert.deepEqual(keys({ type: "added", object: orphan } as never), [key("web")]);
  const foreign = addPod(world, "d", ownedBy(world.put(kinds.job, "j", {})));
  assert.deepEqual(keys({ type: "added", object: foreign } as never), []);
});

test("a ReplicationController selects by a map, other workloads by a selector", () => {
  const labels = { app: "web" };
  const controller = { ...kinds.replicationController, metadata: {}, spec: { selector: labels } };
  const set = { ...kinds.replicaSet, metadata: {}, spec: { selector: { matchLabels: labels } } };
  assert.deepEqual(selectorOf(controller), selectorOf(set));
});

test("members that Go leaves out of JSON are left out", () => {
  assert.deepEqual(withoutEmpty({ a: 0, b: "", c: [], d: undefined, e: false, f: null, g: 1, h: {} }), {
    e: false,
    f: null,
    g: 1,
    h: {},
  });
});

const now = Date.UTC(2026, 0, 1);
const time = "2026-01-01T00:00:00Z";
const before = "2025-01-01T00:00:00Z";
const condition = (status: "True" | "False", reason: string, message = "m"): UpdatedCondition => ({
  type: "T",
  status,
  reason,
  message,
  lastUpdateTime: before,
  lastTransitionTime: before,
});
const claim = (status: "True" | "False", reason: string) => ({ type: "T", status, reason, message: "new" });

test("a condition with the same status and reason stays, whatever its message", () => {
  const conditions = [condition("True", "A")];
  assert.equal(setCondition(conditions, claim("True", "A"), { now }), conditions);
});

test("a condition with another reason keeps the time of its transition, and goes to the end", () => {
  const other = { ...condition("True", "X"), type: "O" };
  const after = setCondition([condition("True", "A"), other], claim("True", "B"), { now, hasUpdateTime: true });
  assert.deepEqual(after, [other, { ...claim("True", "B"), lastUpdateTime: time, lastTransitionTime: before }]);
});

test("a condition with another status changes its times", () => {
  assert.deepEqual(setCondition([condition("True", "A")], claim("False", "A"), { now }), [
    { ...claim("False", "A"), lastTransitionTime: time },
  ]);
});

test("a condition that is not there is not removed", () => {
  const conditions = [condition("True", "A")];
  assert.equal(withoutCondition(conditions, "O"), conditions);
  assert.deepEqual(withoutCondition(conditions, "T"), []);
});
