// SPDX-License-Identifier: Apache-2.0
// A directory that must not be written. Permissions say so to most users; root needs a disk that is read-only, as in the chaos suite.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openNotes, put, show, takeAll, tempDirectory } from "../../test/store/temp-store.ts";
import { acknowledgedFile } from "./acknowledged.ts";
import { createChangeLog } from "./change-log.ts";
import { takeDataDirectory } from "./data-directory.ts";
import { isReadOnly, openReadOnlyLog, shareDataDirectory, storeFile } from "./open-store.ts";
import { isStoreError } from "./store-error.ts";

const isRoot = process.getuid?.() === 0;

/** Permissions do not bind root; the attribute "immutable" does, where the file system has it. */
const setImmutable = (paths: readonly string[], on: boolean): boolean =>
  spawnSync("chattr", [on ? "+i" : "-i", ...paths], { stdio: "ignore" }).status === 0;

/** A new file that root cannot make immutable: then only the chaos suite can show what a read-only directory does. */
function canProtect(): boolean {
  if (!isRoot) return true;
  const directory = tempDirectory();
  return setImmutable([directory], true) && setImmutable([directory], false);
}

/** A directory with one note, its store closed again. */
async function filled(): Promise<string> {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  await put(store, "/a", "1");
  return directory;
}

/** Makes a directory and its files read-only until disposed of. */
function protect(directory: string): Disposable {
  const files = readdirSync(directory).map((name) => join(directory, name));
  const set = (isWritable: boolean): void => {
    if (isRoot) setImmutable([directory, ...files], !isWritable);
    else {
      chmodSync(directory, isWritable ? 0o700 : 0o500);
      for (const file of files) chmodSync(file, isWritable ? 0o600 : 0o400);
    }
  };
  set(false);
  return { [Symbol.dispose]: () => set(true) };
}

test("a directory its owner may not write is served, and refuses every write", async (t) => {
  if (!canProtect())
    return t.skip("root cannot make files immutable here; test/chaos/disk.test.ts shows it on a mount");
  const directory = await filled();
  {
    using _protected = protect(directory);
    assert.throws(
      () => openNotes({ directory }),
      (error) => isStoreError(error, "unavailable"),
      "it is returned only on request",
    );
    await using store = openNotes({ directory, servesReadOnly: true });
    assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=1@2"]);
    assert.ok(isStoreError(store.problem, "unavailable"));
    const watch = store.watch({ scope: "/", after: 1, onReady: () => {} });
    assert.deepEqual(takeAll(watch), ["+/a >1 @2"]);
    await assert.rejects(put(store, "/b", "2"), /read-only when the server started: make it writable and start again/);
  }
  await using store = openNotes({ directory });
  await put(store, "/b", "2");
});

test("a directory that can be written is, whatever is allowed", async () => {
  const directory = await filled();
  assert.equal(isReadOnly(directory, [storeFile]), false);
  assert.equal(isReadOnly(join(directory, "missing"), [storeFile]), false, "what is not there can be made");
  await using store = openNotes({ directory, servesReadOnly: true });
  await put(store, "/b", "2");
});

test("the copy that is read holds what only the write-ahead log has, and leaves the original alone", async () => {
  const directory = tempDirectory();
  const store = openNotes({ directory });
  await put(store, "/a", "1");
  await put(store, "/a", "2");
  const files = [storeFile, `${storeFile}-wal`].map((name) => join(directory, name));
  const before = files.map((file) => readFileSync(file));
  const log = openReadOnlyLog({ path: join(directory, storeFile) });
  assert.deepEqual(
    [...log.read()].map(({ key, revision, bytes }) => `${key}@${revision} ${Buffer.from(bytes ?? []).toString()}`),
    ['/a@2 {"text":"1"}', '/a@3 {"text":"2"}'],
  );
  assert.throws(() => log.commit({ changes: [], obsolete: [], compactedRevision: 1 }), /read-only/);
  assert.deepEqual(
    files.map((file) => readFileSync(file)),
    before,
  );
  await store.close();
});

test("a marker that is missing is reported with the name of the original", async () => {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  await put(store, "/a", "1");
  const acknowledged = join(directory, acknowledgedFile);
  rmSync(acknowledged);
  const warnings: string[] = [];
  openReadOnlyLog({ path: join(directory, storeFile), acknowledged, onWarning: (text) => warnings.push(text) });
  assert.equal(warnings.length, 1);
  assert.ok(warnings.join().includes(`${acknowledged} is missing`), warnings.join());
});

test("damage is reported with the name of the original", () => {
  const directory = tempDirectory();
  const path = join(directory, storeFile);
  createChangeLog(path);
  const database = new DatabaseSync(path);
  database.exec("INSERT INTO change VALUES (2, '/a', 2, NULL, 'x', 0)");
  database.close();
  assert.throws(
    () => openReadOnlyLog({ path }),
    (error) =>
      isStoreError(error, "damaged") && error.message.includes(path) && !error.message.includes("purlin-read-only-"),
  );
});

test("a directory is shared by readers, and not with a writer", () => {
  const directory = tempDirectory();
  const owner = takeDataDirectory(directory);
  assert.throws(
    () => shareDataDirectory(directory),
    (error) => isStoreError(error, "locked") && error.message.includes(`pid ${process.pid}`),
  );
  owner.release();
  const [one, two] = [shareDataDirectory(directory), shareDataDirectory(directory)];
  one();
  assert.throws(
    () => takeDataDirectory(directory),
    (error) => isStoreError(error, "locked"),
  );
  two();
  takeDataDirectory(directory).release();
});

test("a directory without a lock file can be shared too", () => shareDataDirectory(tempDirectory())());
