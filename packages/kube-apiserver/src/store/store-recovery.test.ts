// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { copyFileSync, cpSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openNotes, put, show, takeAll, tempDirectory } from "../../test/store/temp-store.ts";
import { storeFile } from "./open-store.ts";
import { isStoreError } from "./store-error.ts";

test("state, history, revisions and expiry times survive a restart", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
    await put(store, "/b", "1");
    await put(store, "/a", "2");
    await put(store, "/b", undefined);
    await store.write("/c", () => ({ action: "put", value: { text: "soon gone" }, expiresAt: 4_102_444_800_000 }));
  }
  await using store = openNotes({ directory });
  assert.deepEqual([store.revision, store.compactedRevision], [6, 1]);
  assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=2@4", "/c=soon gone@6"]);
  assert.deepEqual(show(store.list({ prefix: "/", revision: 3 }).entries), ["/a=1@2", "/b=1@3"]);
  assert.deepEqual([store.get("/a")?.createRevision, store.get("/c")?.expiresAt], [2, 4_102_444_800_000]);
  const watch = store.watch({ scope: "/", after: 3, onReady: () => {} });
  assert.deepEqual(takeAll(watch), ["~/a 1>2 @4", "-/b 1> @5", "+/c >soon gone @6"]);
  assert.equal((await put(store, "/d", "1"))?.revision, 7);
});

test("a revision is never used again, not even when nothing is left of its change", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
    await put(store, "/a", undefined);
    store.compact(3);
    t.mock.timers.tick(10_000);
  }
  const database = new DatabaseSync(join(directory, storeFile));
  assert.equal(database.prepare("SELECT count(*) AS count FROM change").get()?.["count"], 0);
  database.close();
  await using store = openNotes({ directory });
  assert.deepEqual([store.revision, store.compactedRevision], [3, 3]);
  assert.equal((await put(store, "/a", "1"))?.revision, 4);
});

function rowCount(directory: string): number {
  const database = new DatabaseSync(join(directory, storeFile));
  const count = Number(database.prepare("SELECT count(*) AS count FROM change").get()?.["count"]);
  database.close();
  return count;
}

test("what was deleted does not come back when a kill ends the clean-up of the log half way", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  const keys = Array.from({ length: 800 }, (_, index) => `/k/${index}`);
  for (const text of ["1", "2", undefined]) await Promise.all(keys.map((key) => put(store, key, text)));
  store.compact(store.revision);
  for (let rows = rowsLeft(directory); rows > 0; rows = rowsLeft(directory)) {
    const killed = tempDirectory();
    cpSync(directory, killed, { recursive: true });
    await using copied = openNotes({ directory: killed });
    assert.deepEqual(show(copied.list({ prefix: "/" }).entries), [], `${rows} rows`);
    t.mock.timers.tick(2000);
  }
});

/** How many rows a store has that is open. */
function rowsLeft(directory: string): number {
  const copied = tempDirectory();
  for (const name of [storeFile, `${storeFile}-wal`]) cpSync(join(directory, name), join(copied, name));
  return rowCount(copied);
}

test("rows that history has forgotten are deleted when it is quiet", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory, history: { maxChanges: 100 } });
    await Promise.all(Array.from({ length: 4000 }, (_, i) => put(store, `/hot/${i % 10}`, "x".repeat(100))));
    assert.equal(store.compactedRevision, store.revision - 100);
    for (let quiet = 0; quiet < 10; quiet += 1) {
      t.mock.timers.tick(10_000);
    }
  }
  assert.equal(rowCount(directory), 110, "10 keys and 100 changes of history, each with the state before it");
});

test("rows are deleted while it is busy too, before there are too many", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory, history: { maxChanges: 100 } });
    for (let round = 0; round < 30; round += 1) {
      await Promise.all(Array.from({ length: 1000 }, (_, i) => put(store, `/hot/${i % 10}`, "1")));
    }
  }
  assert.ok(rowCount(directory) < 22_000);
  {
    await using store = openNotes({ directory });
    assert.deepEqual([store.revision, store.list({ prefix: "/" }).entries.length], [30_001, 10]);
  }
  assert.ok(statSync(join(directory, storeFile)).size < 4_000_000);
});

test("files are for their owner only, the directory too", async () => {
  const directory = join(tempDirectory(), "new", "data");
  await using store = openNotes({ directory });
  await put(store, "/a", "1");
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  for (const name of [storeFile, `${storeFile}-wal`, "lock", "lock.pid"]) {
    assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
  }
});

test("the store can be used again right after it was closed, and only then", async () => {
  const directory = tempDirectory();
  const first = openNotes({ directory });
  assert.throws(
    () => openNotes({ directory }),
    (error) =>
      isStoreError(error, "locked") &&
      error.message.includes(`pid ${process.pid}`) &&
      error.message.includes(directory),
  );
  await put(first, "/a", "1");
  await first.close();
  await using second = openNotes({ directory });
  assert.equal(second.get("/a")?.value.text, "1");
});

/** The files as they are at this instant: what a kill now would leave. */
function copyOf(directory: string): string {
  const copy = tempDirectory();
  for (const name of [storeFile, `${storeFile}-wal`]) {
    copyFileSync(join(directory, name), join(copy, name));
  }
  return copy;
}

test("at the instant a write is answered or shown to a watcher, it is in the files", async () => {
  const directory = tempDirectory();
  const copies: { readonly revision: number; readonly copy: string }[] = [];
  await using store = openNotes({ directory });
  const watch = store.watch({
    scope: "/",
    after: 1,
    onReady: () => copies.push({ revision: watch.take().at(-1)?.revision ?? 0, copy: copyOf(directory) }),
  });
  const answered = put(store, "/a", "1").then((entry) =>
    copies.push({ revision: entry?.revision ?? 0, copy: copyOf(directory) }),
  );
  const refused = store.write("/a", ({ current }) => {
    assert.equal(current?.revision, 2);
    throw new Error("refused because of /a");
  });
  await assert.rejects(refused, /refused/);
  copies.push({ revision: 2, copy: copyOf(directory) });
  await answered;
  assert.equal(copies.length, 3);
  for (const { revision, copy } of copies) {
    await using recovered = openNotes({ directory: copy });
    assert.deepEqual([revision, show(recovered.list({ prefix: "/" }).entries)], [2, ["/a=1@2"]]);
  }
});
