// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import { backoffDelay, sleep } from "./informer.ts";
import { type CacheChange, ObjectCache } from "./object-cache.ts";

const object = (name: string, resourceVersion: string, more: Partial<KubeObject> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: "n", resourceVersion },
  ...more,
});
const namesOf = (objects: Iterable<KubeObject>): string[] =>
  [...objects].map(({ metadata }) => metadata.name ?? "").sort();
/** Finds objects by the words in their member `words`. */
const words = ({ words: list }: KubeObject): readonly string[] => (Array.isArray(list) ? list.map(String) : []);
const worded = (name: string, version: string, ...list: string[]): KubeObject => object(name, version, { words: list });

const replaced = (cache: ObjectCache, objects: readonly KubeObject[]): CacheChange[] =>
  [...cache.replacing(new Map(objects.map((one) => [keyText(keyOf(one)), one])))].flatMap((change) => change ?? []);

test("an object is added, updated and deleted, and each change is returned", () => {
  const cache = new ObjectCache();
  const [first, second] = [object("a", "1"), object("a", "2")];
  assert.deepEqual(cache.put(first), { type: "added", object: first });
  assert.deepEqual(cache.put(second), { type: "updated", object: second, previous: first });
  assert.equal(cache.get({ name: "a", namespace: "n" }), second);
  assert.deepEqual(cache.remove({ name: "a", namespace: "n" }), { type: "deleted", object: second });
  assert.deepEqual([cache.size, cache.get({ name: "a", namespace: "n" })], [0, undefined]);
});

test("an event that arrives twice changes nothing", () => {
  const cache = new ObjectCache();
  const kept = object("a", "1");
  cache.put(kept);
  assert.equal(cache.put(object("a", "1")), undefined);
  assert.equal(cache.get({ name: "a", namespace: "n" }), kept);
  assert.equal(cache.remove({ name: "b", namespace: "n" }), undefined);
});

test("objects of the same name in other namespaces are other objects", () => {
  const cache = new ObjectCache();
  cache.put(object("a", "1"));
  cache.put(object("a", "2", { metadata: { name: "a", namespace: "m", resourceVersion: "2" } }));
  cache.put(object("a", "3", { metadata: { name: "a", resourceVersion: "3" } }));
  assert.equal(cache.size, 3);
  assert.equal(cache.get({ name: "a" })?.metadata.resourceVersion, "3");
});

test("a deletion hands over the last state that the server sent", () => {
  const cache = new ObjectCache();
  cache.put(object("a", "1"));
  const last = object("a", "2");
  assert.deepEqual(cache.remove({ name: "a", namespace: "n" }, last), { type: "deleted", object: last });
});

test("a list replaces everything: what is gone is deleted, what is the same stays", () => {
  const cache = new ObjectCache();
  const [kept, changed, gone] = [object("kept", "1"), object("changed", "1"), object("gone", "1")];
  for (const one of [kept, changed, gone]) cache.put(one);
  const [now, fresh] = [object("changed", "2"), object("fresh", "3")];
  assert.deepEqual(replaced(cache, [kept, now, fresh]), [
    { type: "deleted", object: gone },
    { type: "updated", object: now, previous: changed },
    { type: "added", object: fresh },
  ]);
  assert.deepEqual(namesOf(cache.values()), ["changed", "fresh", "kept"]);
  assert.deepEqual(
    replaced(cache, []).map(({ type }) => type),
    ["deleted", "deleted", "deleted"],
  );
});

test("a listed object that equals the cached one is the cached one", () => {
  const cache = new ObjectCache();
  const cached = object("a", "1", { data: { x: "y" } });
  cache.put(cached);
  assert.equal(cache.reuse(object("a", "1", { data: { x: "y" } })), cached);
  const pruned = object("a", "1", { data: {} });
  assert.equal(cache.reuse(pruned), pruned, "a changed schema changes objects without another version");
  const later = object("a", "2", { data: { x: "y" } });
  assert.equal(cache.reuse(later), later);
  const unknown = object("b", "1");
  assert.equal(cache.reuse(unknown), unknown);
});

test("an index follows all changes, also of objects that were there before it", () => {
  const cache = new ObjectCache();
  cache.put(worded("a", "1", "x", "y"));
  cache.addIndex("words", words);
  cache.put(worded("b", "2", "x"));
  assert.deepEqual(namesOf(cache.byIndex("words", "x")), ["a", "b"]);
  cache.put(worded("a", "3", "z"));
  assert.deepEqual(
    [namesOf(cache.byIndex("words", "x")), namesOf(cache.byIndex("words", "y")), namesOf(cache.byIndex("words", "z"))],
    [["b"], [], ["a"]],
  );
  cache.remove({ name: "b", namespace: "n" });
  assert.deepEqual(cache.byIndex("words", "x"), []);
  replaced(cache, [worded("c", "4", "x")]);
  assert.deepEqual([namesOf(cache.byIndex("words", "x")), cache.byIndex("words", "z")], [["c"], []]);
});

test("several values of an index find the objects that have all of them", () => {
  const cache = new ObjectCache();
  cache.addIndex("words", words);
  for (const one of [worded("a", "1", "x", "y"), worded("b", "2", "x"), worded("c", "3", "y", "x", "z")])
    cache.put(one);
  assert.deepEqual(namesOf(cache.byIndex("words", "x", "y")), ["a", "c"]);
  assert.deepEqual(namesOf(cache.byIndex("words", "x", "y", "z")), ["c"]);
  assert.deepEqual(cache.byIndex("words", "x", "none"), []);
});

test("an index is added once, and one that is not there is an error", () => {
  const cache = new ObjectCache();
  cache.addIndex("words", words);
  cache.put(worded("a", "1", "x"));
  cache.addIndex("words", () => ["other"]);
  assert.deepEqual(namesOf(cache.byIndex("words", "x")), ["a"]);
  assert.throws(() => cache.byIndex("owner", "u"), { message: 'the cache has no index "owner"' });
});

test("delays double up to half a minute, a fifth more or less", () => {
  const middle = (failures: number): number => backoffDelay(failures, () => 0.5);
  assert.deepEqual([0, 1, 2, 7, 8, 1000].map(middle), [200, 400, 800, 25_600, 30_000, 30_000]);
  assert.deepEqual(
    [0, 1].map((random) => Math.round(backoffDelay(0, () => random))),
    [160, 240],
  );
  const drawn = backoffDelay(3);
  assert.ok(drawn >= 1280 && drawn <= 1920, String(drawn));
});

test("a wait ends with its signal, without an error", async () => {
  await sleep(60_000, AbortSignal.abort());
  const controller = new AbortController();
  const waiting = sleep(60_000, controller.signal);
  controller.abort();
  assert.equal(await waiting, undefined);
});
