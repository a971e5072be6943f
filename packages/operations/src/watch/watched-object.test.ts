// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { map } from "../../test/scene.ts";
import { kinds } from "../names.ts";
import { DirtyObjects } from "./watched-object.ts";

const watch = (annotations: JsonObject = {}): KubeObject =>
  ({
    ...kinds.watch,
    metadata: { name: "w", annotations },
    spec: { watch: { apiVersion: "v1", kind: "ConfigMap", matchLabels: { for: "n" } } },
  }) as KubeObject;

test("the same version again makes no object dirty; nor does a change of a field that is not named", () => {
  const dirty = new DirtyObjects(watch({ "purlin.dev/watch-fields": "data.x" }), () => 0);
  const at = (resourceVersion: string, data: Record<string, string>): KubeObject =>
    map("n1", data, { labels: { for: "n" }, resourceVersion }) as KubeObject;
  assert.ok(dirty.change({ type: "added", object: at("5", {}) }));
  assert.equal(dirty.handled, "4");
  for (const each of dirty.all()) dirty.done(each);
  assert.deepEqual([dirty.handled, dirty.count], ["5", 1]);
  assert.ok(!dirty.change({ type: "updated", object: at("5", {}), previous: at("5", {}) }));
  assert.ok(!dirty.change({ type: "updated", object: at("6", { y: "1" }), previous: at("5", {}) }));
  assert.equal(dirty.handled, "6", "a restart does not deliver it again");
  assert.ok(dirty.change({ type: "updated", object: at("7", { x: "1" }), previous: at("6", { y: "1" }) }));
  assert.deepEqual([dirty.handled, dirty.all().length], ["6", 1]);
  assert.ok(dirty.change({ type: "deleted", object: at("8", { x: "1" }) }));
  assert.deepEqual([dirty.all().length, dirty.count], [1, 0]);
});

test("an object that enters the selector is dirty, whatever fields are named", () => {
  const dirty = new DirtyObjects(watch({ "purlin.dev/watch-fields": "data.x" }), () => 0);
  const at = (resourceVersion: string, label: string): KubeObject =>
    map("n1", {}, { labels: { for: label }, resourceVersion }) as KubeObject;
  assert.ok(!dirty.change({ type: "added", object: at("5", "other") }));
  assert.ok(dirty.change({ type: "updated", object: at("6", "n"), previous: at("5", "other") }));
  assert.deepEqual([dirty.all().length, dirty.count], [1, 1]);
});

test("10,000 objects are handled in a time that grows with their number", () => {
  const dirty = new DirtyObjects(watch(), () => 0);
  for (let index = 0; index < 10_000; index++) {
    const metadata = { labels: { for: "n" }, resourceVersion: String(index + 1) };
    dirty.change({ type: "added", object: map(`n${index}`, {}, metadata) as KubeObject });
  }
  const before = process.cpuUsage();
  for (const each of dirty.all()) dirty.done(each);
  const { user } = process.cpuUsage(before);
  assert.equal(dirty.handled, "10000");
  // A scan of all others for each of them takes seconds.
  assert.ok(user < 500_000, `${user / 1000} ms of CPU`);
});

/** A series of changes of objects that the WatchOperation watches, each with a version of its own. */
function changesOf(dirty: DirtyObjects) {
  let version = 0;
  const at = (name: string): KubeObject =>
    map(name, {}, { labels: { for: "n" }, resourceVersion: String(++version) }) as KubeObject;
  return {
    add: (name: string) => dirty.change({ type: "added", object: at(name) }),
    update: (name: string) => dirty.change({ type: "updated", object: at(name), previous: at(name) }),
    remove: (name: string) => dirty.change({ type: "deleted", object: at(name) }),
  };
}

const handleAll = (dirty: DirtyObjects): void => {
  for (const each of dirty.all()) dirty.done(each);
};

test("of objects that come and go before an Operation could run, the newest thousand are kept", () => {
  const dirty = new DirtyObjects(watch(), () => 0);
  const changes = changesOf(dirty);
  for (let index = 0; index < 50_000; index++) {
    changes.add(`n${index}`);
    changes.remove(`n${index}`);
  }
  const names = dirty.all().map(({ object }) => object.metadata.name);
  assert.deepEqual([names.length, names[0], names.at(-1)], [1000, "n49000", "n49999"]);
  assert.equal(dirty.takeSkipped(), 49_000);
  assert.equal(dirty.takeSkipped(), 0);
  handleAll(dirty);
  assert.deepEqual([dirty.handled, dirty.all().length], ["100000", 0]);
});

test("no deletion of an object that had an Operation is skipped, whatever comes after it", () => {
  const dirty = new DirtyObjects(watch(), () => 0);
  const changes = changesOf(dirty);
  const names = Array.from({ length: 3000 }, (_, index) => `old${index}`);
  for (const name of names) changes.add(name);
  handleAll(dirty);
  changes.update("old0");
  for (const name of names) changes.remove(name);
  // It came again before its deletion was handled: it had an Operation all the same.
  changes.add("old1");
  changes.remove("old1");
  changes.add("stays");
  for (let index = 0; index < 5000; index++) {
    changes.add(`n${index}`);
    changes.remove(`n${index}`);
  }
  const kept = new Set(dirty.all().map(({ object }) => object.metadata.name));
  assert.deepEqual(
    [...names, "stays"].filter((name) => !kept.has(name)),
    [],
  );
  assert.deepEqual([kept.size, dirty.takeSkipped()], [4001, 4000]);
});

test("an object that exists when its turn comes is not skipped, even if it was gone in between", () => {
  const dirty = new DirtyObjects(watch(), () => 0);
  const changes = changesOf(dirty);
  changes.add("again");
  changes.remove("again");
  changes.add("again");
  for (let index = 0; index < 2000; index++) {
    changes.add(`n${index}`);
    changes.remove(`n${index}`);
  }
  assert.equal(dirty.all()[0]?.object.metadata.name, "again");
  assert.equal(dirty.takeSkipped(), 1000);
});
