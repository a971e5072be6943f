// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openNotes, tempDirectory } from "../../test/store/temp-store.ts";
import {
  checkSnapshot,
  removeSnapshot,
  restoreSnapshot,
  snapshotFile,
  writeSnapshot,
  writeSnapshotOf,
} from "./snapshot.ts";

/** A data directory with the notes a and b, where b was deleted, and the last revision. */
async function dataDirectory(): Promise<{ readonly directory: string; readonly revision: number }> {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  for (const key of ["/a", "/b"]) await store.write(key, () => ({ action: "put", value: { text: key } }));
  await store.write("/b", () => ({ action: "delete" }));
  return { directory, revision: store.revision };
}

test("a snapshot of a store that is open has what was written, and its mode is private", async () => {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  await store.write("/a", () => ({ action: "put", value: { text: "1" } }));
  await writeSnapshot(store, directory);
  const path = join(directory, snapshotFile);
  assert.deepEqual(checkSnapshot(path), { revision: store.revision, objects: 1 });
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await store.write("/b", () => ({ action: "put", value: { text: "2" } }));
  await writeSnapshot(store, directory);
  assert.equal(checkSnapshot(path).objects, 2, "the next snapshot replaces it");
});

test("a snapshot is made while the store is written all the time", async () => {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  let isDone = false;
  const writing = (async () => {
    for (let index = 0; !isDone; index++) {
      await store.write(`/${index % 100}`, () => ({ action: "put", value: { text: "x".repeat(2000) } }));
    }
  })();
  for (let round = 0; round < 100; round++) {
    const before = store.revision;
    await writeSnapshot(store, directory);
    const { revision } = checkSnapshot(join(directory, snapshotFile));
    assert.ok(
      revision >= before && revision <= store.revision,
      `round ${round}: ${before}, ${revision}, ${store.revision}`,
    );
  }
  isDone = true;
  await writing;
});

test("a snapshot that cannot be completed is removed", async () => {
  const directory = tempDirectory();
  const failing = { copyTo: () => Promise.reject(new Error("disk full")) };
  await assert.rejects(writeSnapshot(failing, directory), { message: "disk full" });
  assert.deepEqual(readdirSync(directory), []);
});

test("a snapshot of a directory that no server uses is made, one in use is locked", async () => {
  const { directory, revision } = await dataDirectory();
  await writeSnapshotOf(directory);
  assert.deepEqual(checkSnapshot(join(directory, snapshotFile)), { revision, objects: 1 });
  await using _store = openNotes({ directory });
  await assert.rejects(writeSnapshotOf(directory), { code: "locked" });
});

test("a file that is not a store is not a snapshot", () => {
  const path = join(tempDirectory(), "file");
  writeFileSync(path, "");
  assert.throws(() => checkSnapshot(path), { code: "damaged" });
  writeFileSync(path, "x".repeat(8192));
  assert.throws(() => checkSnapshot(path), { code: "damaged" });
});

test("a restored store has the objects, and goes on a million revisions later", async () => {
  const { directory, revision } = await dataDirectory();
  await writeSnapshotOf(directory);
  const restored = join(tempDirectory(), "new");
  assert.deepEqual(restoreSnapshot(join(directory, snapshotFile), restored), { revision, objects: 1 });
  await using store = openNotes({ directory: restored });
  assert.equal(store.get("/a")?.value.text, "/a");
  assert.equal(store.get("/b"), undefined);
  assert.equal(store.revision, revision + 1_000_000);
  assert.throws(() => store.watch({ scope: "/", after: revision, onReady: () => {} }), "a watch must list again");
});

test("a snapshot is removed with its side files", () => {
  const directory = tempDirectory();
  const path = join(directory, snapshotFile);
  for (const suffix of ["", "-wal", "-shm", "-journal", ".kept"]) writeFileSync(`${path}${suffix}`, "");
  removeSnapshot(path);
  removeSnapshot(path);
  assert.deepEqual(readdirSync(directory), [`${snapshotFile}.kept`]);
  assert.ok(!existsSync(path));
});
