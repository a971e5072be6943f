// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { STORE_FILE } from "./open-store.ts";
import { isStoreError } from "./store-error.ts";
import { openNotes, put, show, takeAll, tempDirectory } from "./testing/temp-store.ts";

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

test("a revision is never used again, not even when nothing is left of its change", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
    await put(store, "/a", undefined);
    store.compact(3);
    // The next commit cleans up what the compaction made superfluous.
    await put(store, "/b", "1");
    await put(store, "/b", undefined);
    store.compact(5);
    await put(store, "/c", "1");
    await put(store, "/c", undefined);
  }
  const database = new DatabaseSync(join(directory, STORE_FILE));
  assert.deepEqual(
    { ...database.prepare("SELECT count(*) AS rows, min(revision) AS first FROM change").get() },
    { rows: 2, first: 6 },
  );
  database.close();
  await using store = openNotes({ directory });
  assert.deepEqual([store.revision, store.compactedRevision], [7, 5]);
  assert.equal((await put(store, "/d", "1"))?.revision, 8);
});

test("rows that history has forgotten are deleted, so the file stops growing", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory, history: { maxChanges: 100 } });
    for (let round = 0; round < 40; round += 1) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => put(store, `/hot/${i % 10}`, "x".repeat(1000))));
    }
    assert.equal(store.compactedRevision, store.revision - 100);
  }
  const database = new DatabaseSync(join(directory, STORE_FILE));
  const rows = Number(database.prepare("SELECT count(*) AS count FROM change").get()?.["count"]);
  database.close();
  assert.ok(rows < 400, `${rows} rows for 10 keys and 100 changes of history`);
  assert.ok(statSync(join(directory, STORE_FILE)).size < 2_000_000);
});

test("files are for their owner only, the directory too", { skip: process.platform === "win32" }, async () => {
  const directory = join(tempDirectory(), "new", "data");
  await using store = openNotes({ directory });
  await put(store, "/a", "1");
  assert.equal(statSync(directory).mode & 0o777, 0o700);
  for (const name of [STORE_FILE, `${STORE_FILE}-wal`, "lock", "lock.pid"]) {
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
