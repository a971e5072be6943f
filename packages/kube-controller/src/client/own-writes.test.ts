// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { finish } from "@purlin/base";
import type { CacheChange, Informer } from "@purlin/kube-client";
import { type KubeObject, keyOf, keyText } from "@purlin/kube-objects/object";
import fc from "fast-check";
import { compareResourceVersions, OwnWrites } from "./own-writes.ts";

const type = { apiVersion: "v1", kind: "ConfigMap" };

function object(name: string, version: number, more: Partial<KubeObject["metadata"]> = {}): KubeObject {
  return {
    ...type,
    metadata: { name, namespace: "ns", uid: `uid-${name}`, resourceVersion: String(version), ...more },
  };
}

/** An informer that sees what it is shown. */
class ShownInformer {
  readonly held = new Map<string, KubeObject>();
  readonly #handlers = new Set<(change: CacheChange) => void>();
  #index: (one: KubeObject) => readonly string[] = () => [];
  resourceVersion = "0";
  lists = 1;

  get(key: { readonly namespace?: string | undefined; readonly name: string }): KubeObject | undefined {
    return this.held.get(keyText(key));
  }

  list({ namespace }: { readonly namespace?: string | undefined } = {}): KubeObject[] {
    return [...this.held.values()].filter((one) => namespace === undefined || one.metadata.namespace === namespace);
  }

  addIndex(_name: string, of: (one: KubeObject) => readonly string[]): void {
    this.#index = of;
  }

  byIndex(_name: string, ...values: string[]): KubeObject[] {
    return this.list().filter((one) => values.every((value) => this.#index(one).includes(value)));
  }

  subscribe(handler: (change: CacheChange) => void): () => void {
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  sees(one: KubeObject): void {
    this.held.set(keyText(keyOf(one)), one);
    this.resourceVersion = one.metadata.resourceVersion ?? "";
    for (const handler of this.#handlers) handler({ type: "added", object: one });
  }

  seesGone(one: KubeObject, version: number): void {
    this.held.delete(keyText(keyOf(one)));
    this.resourceVersion = String(version);
    for (const handler of this.#handlers) handler({ type: "deleted", object: one });
  }
}

function setting(): { informer: ShownInformer; writes: OwnWrites } {
  const informer = new ShownInformer();
  return { informer, writes: new OwnWrites(informer as unknown as Informer) };
}

const key = { namespace: "ns", name: "a" };
const versionOf = (one: KubeObject | undefined): string | undefined => one?.metadata.resourceVersion;

test("versions are numbers of any length", () => {
  for (const [a, b, order] of [
    ["9", "10", -1],
    ["10", "10", 0],
    ["", "1", -1],
    ["18446744073709551616", "18446744073709551615", 1],
  ] as const) {
    assert.equal(Math.sign(compareResourceVersions(a, b)), order, `${a} and ${b}`);
  }
  assert.ok(compareResourceVersions(undefined, "1") < 0);
});

test("an answer that comes late does not bring back what was deleted since, and a new one of the name is seen", () => {
  const { informer, writes } = setting();
  writes.deleted(object("a", 7));
  writes.stored(object("a", 6));
  assert.equal(writes.get(key), undefined);
  writes.stored(object("a", 8, { uid: "another" }));
  assert.equal(versionOf(writes.get(key)), "8");
  informer.sees(object("a", 8, { uid: "another" }));
  assert.deepEqual([versionOf(writes.get(key)), writes.size], ["8", 0]);
});

test("a write is seen until the informer has it, and then no longer remembered", () => {
  const { informer, writes } = setting();
  informer.sees(object("a", 5));
  writes.stored(object("a", 7));
  assert.equal(versionOf(writes.get(key)), "7");
  informer.sees(object("a", 6));
  assert.deepEqual([versionOf(writes.get(key)), writes.size], ["7", 1], "an event from before the write");
  informer.sees(object("a", 8));
  assert.deepEqual([versionOf(writes.get(key)), writes.size], ["8", 0]);
});

test("any event at or after the write counts: the object may have been deleted meanwhile", () => {
  const { informer, writes } = setting();
  writes.stored(object("a", 7));
  informer.sees(object("other", 9));
  assert.deepEqual([writes.get(key), writes.size], [undefined, 0]);
});

test("of two writes the newer one counts, in whichever order their answers came", () => {
  const { writes } = setting();
  writes.stored(object("a", 8));
  writes.stored(object("a", 7));
  assert.equal(versionOf(writes.get(key)), "8");
});

test("a deleted object is gone at once, and one of the same name may follow", () => {
  const { informer, writes } = setting();
  informer.sees(object("a", 5));
  writes.deleted(object("a", 5));
  assert.equal(writes.get(key), undefined);
  writes.stored(object("a", 9, { uid: "second" }));
  assert.equal(writes.get(key)?.metadata.uid, "second");
});

test("a deletion of something the informer has not even seen yet holds as well", () => {
  const { informer, writes } = setting();
  writes.stored(object("a", 5));
  writes.deleted(object("a", 5));
  informer.sees(object("other", 4));
  assert.equal(writes.get(key), undefined);
  informer.sees(object("a", 5));
  assert.equal(writes.get(key), undefined, "the event of the creation comes late");
  informer.seesGone(object("a", 5), 6);
  assert.deepEqual([writes.get(key), writes.size], [undefined, 0]);
});

test("an object that did not go after all is seen again with its next event", () => {
  const { informer, writes } = setting();
  informer.sees(object("a", 5));
  writes.deleted(object("a", 5));
  informer.sees(object("a", 6, { deletionTimestamp: "2030-01-01T00:00:00Z", finalizers: ["x/y"] }));
  assert.equal(versionOf(writes.get(key)), "6");
});

test("an update that takes the last finalizer of a deleted object is a deletion", () => {
  const { informer, writes } = setting();
  const deleted = { deletionTimestamp: "2030-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 };
  informer.sees(object("a", 5, { ...deleted, finalizers: ["x/y"] }));
  writes.stored(object("a", 6, { ...deleted, finalizers: [] }));
  assert.equal(writes.get(key), undefined);
});

test("lists have our writes in them", () => {
  const { informer, writes } = setting();
  for (const name of ["a", "b", "c"]) informer.sees(object(name, 5));
  writes.stored(object("a", 7));
  writes.deleted(object("b", 5));
  writes.stored(object("d", 8));
  writes.stored(object("e", 9, { namespace: "elsewhere" }));
  const listed = (namespace?: string): string[] =>
    finish(writes.list({}, { namespace }))
      .map((one) => `${one.metadata.name}@${versionOf(one)}`)
      .sort();
  assert.deepEqual(listed("ns"), ["a@7", "c@5", "d@8"]);
  assert.deepEqual(listed(), ["a@7", "c@5", "d@8", "e@9"]);
});

test("lists by label have our writes in them, whatever labels the informer has", () => {
  const { informer, writes } = setting();
  const labels = (app: string, tier = "web"): object => ({ labels: { app, tier } });
  informer.sees(object("moves-in", 5, labels("two")));
  informer.sees(object("moves-out", 5, labels("one")));
  informer.sees(object("stays", 5, labels("one")));
  informer.sees(object("other-tier", 5, labels("one", "db")));
  writes.stored(object("moves-in", 7, labels("one")));
  writes.stored(object("moves-out", 7, labels("two")));
  writes.stored(object("new", 7, labels("one")));
  const listed = (wanted: Record<string, string>): unknown[] =>
    finish(writes.list(wanted, { namespace: "ns" }))
      .map(({ metadata }) => metadata.name)
      .sort();
  assert.deepEqual(listed({ app: "one", tier: "web" }), ["moves-in", "new", "stays"]);
  assert.deepEqual(listed({ app: "one", tier: "db" }), ["other-tier"]);
  assert.deepEqual(listed({ app: "other" }), []);
});

test("a long list is compared with our writes in parts, as they were when it began", () => {
  const { informer, writes } = setting();
  let looks = 0;
  const counted = (name: string): KubeObject => {
    const { metadata, ...one } = object(name, 5);
    return Object.defineProperty(one, "metadata", {
      get() {
        looks++;
        return metadata;
      },
    }) as KubeObject;
  };
  for (let i = 0; i < 10_000; i++) informer.held.set(`ns/o${i}`, counted(`o${i}`));
  informer.resourceVersion = "5";
  writes.stored(object("o9999", 6));
  writes.stored(object("new", 7));
  const listing = writes.list();
  looks = 0;
  let parts = 0;
  let most = 0;
  let part = listing.next();
  for (; !part.done; part = listing.next()) {
    if (parts++ === 0) writes.stored(object("later", 8));
    most = Math.max(most, looks);
    looks = 0;
  }
  assert.ok(most < 5000, `${most} looks in one part`);
  assert.ok(parts >= 10, `${parts} parts`);
  assert.deepEqual(
    part.value.slice(-2).map((one) => `${one.metadata.name}@${versionOf(one)}`),
    ["o9999@6", "new@7"],
  );
});

test("an object with many labels is found by each of them, and is in the index once", () => {
  const { informer, writes } = setting();
  const labels = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, "v"]));
  informer.sees(object("few", 1, { labels: { app: "one" } }));
  informer.sees(object("many", 2, { labels: { app: "one", ...labels } }));
  const values = new Set<string>();
  const addIndex = informer.addIndex.bind(informer);
  informer.addIndex = (name, of) =>
    addIndex(name, (one) => {
      for (const value of of(one)) values.add(value);
      return of(one);
    });
  const listed = (wanted: Record<string, string>): unknown[] =>
    finish(writes.list(wanted)).map(({ metadata }) => metadata.name);
  assert.deepEqual(listed({ app: "one" }), ["few", "many"]);
  assert.deepEqual(listed({ k7: "v", k8: "v" }), ["many"]);
  assert.deepEqual(listed(labels), ["many"]);
  assert.deepEqual(listed({ ...labels, k7: "other" }), []);
  assert.deepEqual([...values].sort(), ["", "app=one"]);
});

test("lists by field look at the objects with that value alone, and have our writes in them", () => {
  const { informer, writes } = setting();
  const withDigest = (name: string, version: number, digest: unknown): KubeObject =>
    ({ ...object(name, version), spec: { digest } }) as KubeObject;
  informer.sees(withDigest("a", 1, "x"));
  informer.sees(withDigest("b", 2, "y"));
  informer.sees(object("c", 3));
  informer.sees(withDigest("d", 4, { not: "text" }));
  informer.byIndex = (name, ...values) =>
    name === "field spec.digest" ? ShownInformer.prototype.byIndex.call(informer, name, ...values) : assert.fail(name);
  const names = (value: string): string[] =>
    finish(writes.list({}, { field: { path: ["spec", "digest"], value } })).map(({ metadata }) => metadata.name ?? "");
  assert.deepEqual(names("x"), ["a"]);
  assert.deepEqual(names("z"), []);
  writes.stored(withDigest("b", 5, "x"));
  assert.deepEqual(names("x").toSorted(), ["a", "b"]);
  assert.deepEqual(names("y"), [], "what we wrote counts, not what the informer has");
});

test("a version that was read counts when it is newer than the known one", () => {
  const { informer, writes } = setting();
  informer.sees(object("a", 5));
  assert.equal(versionOf(writes.newest(object("a", 4))), "5");
  assert.equal(versionOf(writes.newest(object("a", 6))), "6");
  writes.stored(object("a", 9));
  assert.equal(versionOf(writes.newest(object("a", 6))), "9");
  informer.seesGone(object("a", 9), 10);
  assert.equal(writes.newest(object("a", 9)), undefined, "it has gone since");
  assert.equal(versionOf(writes.newest(object("a", 11))), "11", "or come again");
});

test("a server that lost our write is believed after it was listed again", () => {
  const { informer, writes } = setting();
  writes.stored(object("a", 900));
  informer.resourceVersion = "3";
  informer.lists = 2;
  assert.equal(versionOf(writes.get(key)), "900", "that list may have begun before the write");
  informer.lists = 3;
  assert.deepEqual([writes.get(key), writes.size], [undefined, 0]);
});

test("writes that no event confirms are forgotten in the end", () => {
  const { writes } = setting();
  for (let i = 0; i < 12_000; i++) writes.stored(object(`o${i}`, i + 1));
  assert.equal(writes.size, 10_000);
  assert.equal(writes.get({ namespace: "ns", name: "o0" }), undefined);
  assert.equal(versionOf(writes.get({ namespace: "ns", name: "o11999" })), "12000");
  writes.close();
  assert.equal(writes.size, 0);
});

test("whatever comes in whichever order, a read is never older than our last write", () => {
  const step = fc.oneof(fc.constant("write" as const), fc.constant("foreign" as const), fc.constant("show" as const));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { informer, writes } = setting();
      const pending: KubeObject[] = [];
      let version = 0;
      let ours = 0;
      for (const one of steps) {
        if (one !== "show") pending.push(object("a", ++version));
        if (one === "write") {
          writes.stored(object("a", version));
          ours = version;
        }
        const shown = one === "show" ? pending.shift() : undefined;
        if (shown) informer.sees(shown);
        assert.ok(Number(versionOf(writes.get(key)) ?? 0) >= ours);
      }
      for (const rest of pending) informer.sees(rest);
      assert.equal(writes.size, 0, "in the end all is known");
    }),
  );
});

test("lists by controller have our writes in them, and objects without one are found by namespace", () => {
  const { informer, writes } = setting();
  const owned = (uid: string): object => ({
    ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: "owner", uid, controller: true }],
  });
  informer.sees(object("a", 1, owned("one")));
  informer.sees(object("b", 2, owned("two")));
  informer.sees(object("free", 3));
  writes.stored(object("b", 5, owned("one")));
  writes.stored(object("new", 6, owned("one")));
  const names = (controller: string): unknown[] =>
    finish(writes.list({}, { namespace: "ns", controller }))
      .map(({ metadata }) => metadata.name)
      .sort();
  assert.deepEqual(names("one"), ["a", "b", "new"]);
  assert.deepEqual(names("two"), [], "what we wrote counts, not what the informer has");
  assert.deepEqual(names(""), ["free"]);
});
