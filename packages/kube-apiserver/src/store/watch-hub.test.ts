// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Note, openNotes, put, showChange, takeAll } from "../../test/store/temp-store.ts";
import type { Store, Watch } from "./store.ts";
import { isStoreError } from "./store-error.ts";

function watch(store: Store<Note>, scope: string, after: number): Watch<Note> & { readonly calls: () => number } {
  let calls = 0;
  const inner = store.watch({ scope, after, onReady: () => (calls += 1) });
  return { take: (limit) => inner.take(limit), close: () => inner.close(), calls: () => calls };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function write(store: Store<Note>): Promise<void> {
  await put(store, "/cm/a/x", "1");
  await put(store, "/cm/b/x", "1");
  await put(store, "/cm/a/x", "2");
  await put(store, "/cmx/a/x", "1");
  await put(store, "/cm/a/x", undefined);
}

const all = ["+/cm/a/x >1 @2", "+/cm/b/x >1 @3", "~/cm/a/x 1>2 @4", "+/cmx/a/x >1 @5", "-/cm/a/x 2> @6"];
const a = all.filter((line) => line.includes("/cm/a/x"));

const cases: Record<string, { reason: string; scope: string; after: number; want: string[] }> = {
  Everything: { reason: "all keys lie under the root", scope: "/", after: 1, want: all },
  Resource: {
    reason: "a longer name is another resource",
    scope: "/cm/",
    after: 1,
    want: [0, 1, 2, 4].map((i) => all[i] ?? ""),
  },
  Namespace: { reason: "one namespace", scope: "/cm/a/", after: 1, want: a },
  OneKey: { reason: "one key", scope: "/cm/a/x", after: 1, want: a },
  Resumed: { reason: "only what came after", scope: "/cm/a/", after: 2, want: a.slice(1) },
  ResumedOnGap: { reason: "a revision of another key", scope: "/cm/a/", after: 5, want: a.slice(2) },
  Current: { reason: "nothing new", scope: "/", after: 6, want: [] },
  Future: { reason: "nothing yet", scope: "/", after: 99, want: [] },
  Unknown: { reason: "no writes there", scope: "/zz/", after: 1, want: [] },
};

test("a watcher is not called for a change that it has no interest in", async () => {
  await using store = openNotes();
  const watching = (isOfInterest: () => boolean) => {
    let calls = 0;
    const inner = store.watch({ scope: "/cm/", after: 1, onReady: () => (calls += 1), isOfInterest });
    assert.deepEqual(inner.take(), []);
    return { inner, calls: () => calls };
  };
  const [none, every] = [watching(() => false), watching(() => true)];
  await write(store);
  assert.deepEqual([none.calls(), takeAll(none.inner)], [0, []]);
  assert.deepEqual([every.calls(), takeAll(every.inner).length], [1, 4]);
});

for (const [name, { reason, scope, after, want }] of Object.entries(cases)) {
  test(`watch from history: ${name}`, async () => {
    await using store = openNotes();
    await write(store);
    assert.deepEqual(takeAll(watch(store, scope, after)), want, reason);
  });

  test(`watch live: ${name}`, async () => {
    await using store = openNotes();
    const watching = watch(store, scope, after);
    assert.deepEqual(watching.take(), []);
    await write(store);
    assert.deepEqual(takeAll(watching), want, reason);
    assert.equal(watching.calls() > 0, want.length > 0, reason);
  });
}

test("a watcher is called once for everything there is, again only after it was given nothing", async () => {
  await using store = openNotes();
  const watching = watch(store, "/", 1);
  await Promise.all([put(store, "/a", "1"), put(store, "/b", "1")]);
  await put(store, "/c", "1");
  assert.equal(watching.calls(), 1);
  assert.equal(watching.take(2).length, 2);
  await put(store, "/d", "1");
  assert.equal(watching.calls(), 1, "there is more to take already");
  assert.equal(takeAll(watching).length, 2);
  await put(store, "/e", "1");
  assert.equal(watching.calls(), 2);
});

test("a watcher that resumes is called although nothing happens", async () => {
  await using store = openNotes();
  await put(store, "/a", "1");
  const watching = watch(store, "/a", 1);
  await turn();
  assert.equal(watching.calls(), 1);
});

test("changes are never seen before they are durable, nor after the answer to the writer", async () => {
  await using store = openNotes();
  const watching = watch(store, "/", 1);
  const written = put(store, "/a", "1");
  await Promise.resolve();
  assert.deepEqual(watching.take(), []);
  await written;
  assert.deepEqual(takeAll(watching), ["+/a >1 @2"]);
});

test("watchers of the same change are given the same object", async () => {
  await using store = openNotes();
  const [one, two] = [watch(store, "/", 1), watch(store, "/a", 1)];
  await put(store, "/a", "1");
  assert.equal(one.take()[0], two.take()[0]);
});

for (const limit of [1, 7, 64, 1000]) {
  test(`a watcher far behind catches up from history, ${limit} at a time, missing nothing`, async () => {
    await using store = openNotes();
    const watching = watch(store, "/a/", 1);
    const keys = Array.from({ length: 500 }, (_, i) => `/${i % 3 === 0 ? "b" : "a"}/${i}`);
    await Promise.all(keys.map((key) => put(store, key, "1")));
    const seen: string[] = takeAll(watching, limit);
    await put(store, "/a/last", "1");
    seen.push(...takeAll(watching, limit));
    const want = [...keys.filter((key) => key.startsWith("/a/")), "/a/last"];
    assert.deepEqual(
      seen.map((line) => line.slice(1).split(" ")[0]),
      want,
    );
  });
}

const tooSlow: Record<string, { reason: string; changes: number }> = {
  FewAnnounced: { reason: "it reports the changes that it missed", changes: 3 },
  ManyAnnounced: { reason: "it has to search for them", changes: 200 },
};

for (const [name, { reason, changes }] of Object.entries(tooSlow)) {
  test(`a watcher behind the history gets an error: ${name}`, async () => {
    await using store = openNotes({ history: { maxChanges: 2 } });
    const watching = watch(store, "/", 1);
    const idle = watch(store, "/idle", 1);
    await Promise.all(Array.from({ length: changes }, (_, i) => put(store, `/${i}`, "1")));
    for (let attempt = 0; attempt < 2; attempt += 1) {
      assert.throws(
        () => watching.take(),
        (error) => isStoreError(error, "expired"),
        reason,
      );
    }
    assert.deepEqual(idle.take(), [], "one that missed nothing continues");
    assert.throws(
      () => watch(store, "/", 1),
      (error) => isStoreError(error, "expired"),
    );
  });
}

test("what a watcher has taken stays whole when history forgets it", async () => {
  await using store = openNotes();
  await put(store, "/a", "1");
  const watching = watch(store, "/", 2);
  await put(store, "/a", "2");
  await put(store, "/a", undefined);
  const taken = watching.take();
  store.compact(4);
  assert.deepEqual(taken.map(showChange), ["~/a 1>2 @3", "-/a 2> @4"]);
});

test("a closed watch ends, other watches of the same scope continue", async () => {
  await using store = openNotes();
  const [closed, open] = [watch(store, "/a", 1), watch(store, "/a", 1)];
  closed.close();
  closed.close();
  await put(store, "/a", "1");
  assert.equal(closed.calls(), 0);
  assert.throws(
    () => closed.take(),
    (error) => isStoreError(error, "closed"),
  );
  assert.equal(takeAll(open).length, 1);
});

test("closing the store wakes and ends every watch", async () => {
  const store = openNotes();
  const watching = watch(store, "/", 1);
  await store.close();
  await turn();
  assert.equal(watching.calls(), 1);
  assert.throws(
    () => watching.take(),
    (error) => isStoreError(error, "closed"),
  );
});
