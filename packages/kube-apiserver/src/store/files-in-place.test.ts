// SPDX-License-Identifier: Apache-2.0
// Files of the store that another program truncates or overwrites while the store is open: they keep their places, and lose their contents.
import assert from "node:assert/strict";
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  cpSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { openNotes, put, tempDirectory } from "../../test/store/temp-store.ts";
import { acknowledgedFile } from "./acknowledged.ts";
import { storeFile } from "./open-store.ts";
import { isStoreError } from "./store-error.ts";

const walFile = `${storeFile}-wal`;
const maintenanceMs = 2000;

type Damage = (directory: string, older: string) => void;

/** As `cp --preserve` does: into the files that are there, with the times of the copies. */
const overwrite =
  (...names: string[]): Damage =>
  (directory, older) => {
    for (const name of names) {
      const [from, to] = [join(older, name), join(directory, name)];
      copyFileSync(from, to);
      const { atime, mtime } = statSync(from);
      utimesSync(to, atime, mtime);
    }
  };

/** Of the same length, and noticed by its time alone. */
const ones =
  (name: string, at: number): Damage =>
  (directory) => {
    const path = join(directory, name);
    const file = openSync(path, "r+");
    writeSync(file, Buffer.alloc(100, 0xff), 0, 100, at);
    closeSync(file);
    utimesSync(path, new Date(), new Date(Date.now() + 1000));
  };

const damages: Record<string, Damage> = {
  "the log is emptied": (directory) => truncateSync(join(directory, walFile)),
  "the log is cut": (directory) => truncateSync(join(directory, walFile), 5000),
  "the log is other bytes in its header": ones(walFile, 0),
  "the log is other bytes in its middle": ones(walFile, 32 + 4120 + 500),
  "the log is an older one": overwrite(walFile),
  "the log is other bytes": (directory) => writeFileSync(join(directory, walFile), "x".repeat(100_000)),
  "the database is emptied": (directory) => truncateSync(join(directory, storeFile)),
  "the database is cut": (directory) => truncateSync(join(directory, storeFile), 4096),
  "the database has more behind it": (directory) => appendFileSync(join(directory, storeFile), "x".repeat(4096)),
  "the database is an older one": overwrite(storeFile),
  "the database is other bytes in its middle": ones(storeFile, 4096),
  "the database and its log are older ones": overwrite(storeFile, walFile),
  "all files are older ones": overwrite(storeFile, walFile, acknowledgedFile),
};

for (const [why, damage] of Object.entries(damages)) {
  test(`writes fail at once, reading continues, and the files are left as they are: ${why}`, async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const [directory, older] = [tempDirectory(), tempDirectory()];
    const store = openNotes({ directory });
    const settle = (): void => {
      for (let quiet = 0; quiet < 3; quiet += 1) t.mock.timers.tick(maintenanceMs);
    };
    await put(store, "/early", "1");
    settle();
    await put(store, "/between", "1");
    cpSync(directory, older, { recursive: true, preserveTimestamps: true });
    settle();
    for (let i = 0; i < 5; i += 1) await put(store, `/late/${i}`, "1");
    assert.equal(store.problem, undefined);
    damage(directory, older);
    const left = contents(directory);
    assertAltered(store.problem);
    for (const text of ["2", undefined]) await assert.rejects(put(store, "/early", text), assertAltered);
    await assert.rejects(store.copyTo(join(tempDirectory(), "copy")), /overwritten by another program/);
    settle();
    assert.equal(store.get("/late/4")?.value.text, "1");
    await store.close();
    assert.deepEqual(contents(directory), left);
    t.mock.timers.reset();
    if (why === "all files are older ones") {
      await using restored = openNotes({ directory, onWarning: assert.fail });
      assert.deepEqual([restored.revision, restored.get("/between")?.value.text], [3, "1"]);
      await put(restored, "/after", "1");
    } else {
      await assertNothingMissing(directory, 8);
    }
  });
}

/** What the log still has may make up for all of it; otherwise the store does not open. */
async function assertNothingMissing(directory: string, revision: number): Promise<void> {
  try {
    await using store = openNotes({ directory });
    assert.deepEqual([store.revision, store.list({ prefix: "/" }).entries.length], [revision, revision - 1]);
  } catch (error) {
    assert.ok(isStoreError(error) && /^(lost|damaged)$/.test(error.code), String(error));
  }
}

function assertAltered(error: unknown): true {
  assert.ok(isStoreError(error, "unavailable"), String(error));
  assert.match(error.message, /store\.db(-wal)? was truncated or overwritten by another program while the server was/);
  assert.match(error.message, /purlin export, then restart the server to continue with what is there now, or restore/);
  return true;
}

function contents(directory: string): Record<string, string> {
  const names = [storeFile, walFile, acknowledgedFile];
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name)).toString("base64")]));
}

const harmless: Record<string, Damage> = {
  "both are touched": (directory) => {
    for (const name of [storeFile, walFile]) utimesSync(join(directory, name), new Date(0), new Date(0));
  },
  "both are overwritten with themselves": (directory) => {
    for (const name of [storeFile, walFile]) writeFileSync(join(directory, name), readFileSync(join(directory, name)));
  },
  "garbage is appended to the log": (directory) => appendFileSync(join(directory, walFile), "garbage".repeat(1000)),
};
for (const [why, damage] of Object.entries(harmless)) {
  test(`what takes nothing away stops nothing: ${why}`, async () => {
    const directory = tempDirectory();
    await using store = openNotes({ directory });
    for (let i = 0; i < 20; i += 1) {
      if (i % 5 === 4) damage(directory, directory);
      await put(store, `/k/${i}`, "1");
      assert.equal(store.problem, undefined);
    }
    const killed = tempDirectory();
    cpSync(directory, killed, { recursive: true });
    await using recovered = openNotes({ directory: killed });
    assert.equal(recovered.list({ prefix: "/" }).entries.length, 20);
  });
}

test("a database that a kill left under another name while it was closed gets its name back", async (t) => {
  const directory = tempDirectory();
  const store = openNotes({ directory });
  await put(store, "/a", "1");
  truncateSync(join(directory, walFile), 100);
  const killed = tempDirectory();
  const { close } = DatabaseSync.prototype;
  t.mock.method(DatabaseSync.prototype, "close", function (this: DatabaseSync) {
    if (!existsSync(join(directory, storeFile))) cpSync(directory, killed, { recursive: true });
    close.call(this);
  });
  await store.close();
  t.mock.restoreAll();
  assert.equal(existsSync(join(killed, storeFile)), false);
  const closed = contents(directory);
  assert.throws(
    () => openNotes({ directory: killed }),
    (error) => isStoreError(error, "lost") && /ends at revision 1, but/.test(error.message),
  );
  assert.deepEqual(contents(killed), closed);
});

test("a file that gets its contents back can be written again", async () => {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  await put(store, "/a", "1");
  const path = join(directory, walFile);
  const bytes = readFileSync(path);
  truncateSync(path);
  await assert.rejects(put(store, "/a", "2"), assertAltered);
  writeFileSync(path, bytes);
  await put(store, "/a", "3");
  assert.equal(store.problem, undefined);
});
