// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { map } from "../../test/scene.ts";
import { kinds } from "../names.ts";
import { DirtyObjects, fieldsProblem, isWatched } from "./watched-object.ts";

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

test("a field is compared once, however often it or a field within it is named", () => {
  const named = Array.from({ length: 50_000 }, (_, i) => (i % 2 === 0 ? "data" : ` data.k${i % 80} `)).join(",");
  const of = watch({ "purlin.dev/watch-fields": named });
  assert.equal(fieldsProblem(of), undefined);
  const dirty = new DirtyObjects(of, () => 0);
  const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, "x"]));
  const at = (version: number, more: Readonly<Record<string, string>> = {}): KubeObject =>
    map("n1", { ...data, ...more }, { labels: { for: "n" }, resourceVersion: `${version}` }) as KubeObject;
  dirty.change({ type: "added", object: at(1) });
  const before = process.threadCpuUsage();
  assert.ok(!dirty.change({ type: "updated", object: at(2), previous: at(1) }));
  const ms = process.threadCpuUsage(before).user / 1000;
  // 250 million members are compared otherwise.
  assert.ok(ms < 2000, `${ms} ms`);
  assert.ok(dirty.change({ type: "updated", object: at(4, { k1: "y" }), previous: at(3) }));
});

test("a field within a named one counts with it, and one with a similar name does not", () => {
  const dirty = new DirtyObjects(watch({ "purlin.dev/watch-fields": "data.a,data.a.b,data.a-b,data.ab" }), () => 0);
  const changed = (one: JsonObject, other: JsonObject): boolean => {
    const at = (version: string, data: JsonObject): KubeObject => ({
      ...(map("n1", {}, { labels: { for: "n" }, resourceVersion: version }) as KubeObject),
      data,
    });
    dirty.change({ type: "added", object: at("1", one) });
    return dirty.change({ type: "updated", object: at("2", other), previous: at("1", one) });
  };
  assert.ok(changed({ a: { b: 1 } }, { a: { b: 2 } }));
  assert.ok(changed({ ab: 1 }, { ab: 2 }));
  assert.ok(changed({ "a-b": 1 }, { "a-b": 2 }));
  assert.ok(!changed({ abc: 1 }, { abc: 2 }));
});

test("more than a hundred fields are refused", () => {
  const names = (count: number): string => Array.from({ length: count }, (_, i) => `data.k${i}`).join(",");
  assert.equal(fieldsProblem(watch({ "purlin.dev/watch-fields": names(100) })), undefined);
  assert.equal(
    fieldsProblem(watch({ "purlin.dev/watch-fields": names(101) })),
    "annotation purlin.dev/watch-fields names 101 fields (limit 100): name fewer, or a field that contains them",
  );
});

test("ten thousand objects are compared with a hundred thousand labels, which are read once", () => {
  const matchLabels = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`l${i}`, "x"]));
  const of = { ...watch(), spec: { watch: { apiVersion: "v1", kind: "ConfigMap", matchLabels } } } as KubeObject;
  const object = map("n1", {}, { labels: { l0: "x" } }) as KubeObject;
  const before = process.threadCpuUsage();
  for (let i = 0; i < 10_000; i++) assert.ok(!isWatched(of, object));
  const ms = process.threadCpuUsage(before).user / 1000;
  // A minute when they are read for each object.
  assert.ok(ms < 2000, `${ms} ms`);
});

const selecting = (label: string): KubeObject =>
  ({ ...watch(), spec: { watch: { apiVersion: "v1", kind: "ConfigMap", matchLabels: { for: label } } } }) as KubeObject;
const labeled = (name: string, version: number, label = "n"): KubeObject =>
  map(name, {}, { labels: { for: label }, resourceVersion: String(version) }) as KubeObject;
const dirtyNames = (dirty: DirtyObjects): unknown[] => dirty.all().map(({ object }) => object.metadata.name);

test("objects that change while those of an edited filter are listed are not taken from the list", () => {
  const dirty = new DirtyObjects(selecting("other"), () => 0);
  assert.ok(dirty.follow(selecting("n")));
  const listed = ["gone", "left", "changed", "same"].map((name, index) => labeled(name, index + 1));
  const [gone, left, changed] = listed as [KubeObject, KubeObject, KubeObject];
  dirty.change({ type: "deleted", object: gone });
  for (const each of dirty.all()) dirty.done(each);
  dirty.change({ type: "updated", object: labeled("left", 6, "elsewhere"), previous: left });
  dirty.change({ type: "updated", object: labeled("changed", 7), previous: changed });
  dirty.change({ type: "added", object: labeled("new", 8) });
  dirty.select(listed);
  assert.deepEqual([dirtyNames(dirty), dirty.count], [["changed", "new", "same"], 3]);
  assert.deepEqual(
    dirty.all().map(({ version }) => version),
    [7n, 8n, 4n],
  );
});

test("objects of an edited filter that could not be listed are taken over later", () => {
  const dirty = new DirtyObjects(selecting("other"), () => 0);
  assert.ok(dirty.follow(selecting("n")));
  dirty.change({ type: "added", object: labeled("early", 1) });
  assert.ok(dirty.follow(selecting("n")), "they were not listed");
  dirty.select([labeled("early", 1), labeled("late", 2)]);
  assert.deepEqual([dirtyNames(dirty), dirty.count], [["early", "late"], 2]);
  assert.ok(!dirty.follow(selecting("n")));
});
