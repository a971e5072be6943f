// SPDX-License-Identifier: Apache-2.0
// After a crash: files of the store that are missing together, or that belong to another store. What is left would open as an older store.
import assert from "node:assert/strict";
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { type TestContext, test } from "node:test";
import { openNotes, put, serverDirectory, show, tempDirectory } from "../../test/store/temp-store.ts";
import { acknowledgedFile, readAcknowledged } from "./acknowledged.ts";
import { revisionGap } from "./lost-writes.ts";
import { storeFile } from "./open-store.ts";
import { isStoreError } from "./store-error.ts";

const walFile = `${storeFile}-wal`;
const maintenanceMs = 2000;

interface Crash {
  readonly directory: string;
  /** The last revision, and the last that the database has without its write-ahead log. */
  readonly last: number;
  readonly moved: number;
  /** The files as they were before the log was begun again. */
  readonly older: string;
}

/** A directory as a kill leaves it: some of its writes in the database, the others in the second round of the log. */
async function crashed(t: TestContext, name: string, writes = 20): Promise<Crash> {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const [running, older, directory] = [tempDirectory(), tempDirectory(), tempDirectory()];
  const store = openNotes({ directory: running });
  await put(store, `/${name}/first`, "1");
  cpSync(running, older, { recursive: true });
  for (let quiet = 0; quiet < 3; quiet += 1) t.mock.timers.tick(maintenanceMs);
  const moved = store.revision;
  for (let i = 0; i < writes; i += 1) await put(store, `/${name}/${i}`, String(i));
  cpSync(running, directory, { recursive: true });
  const last = store.revision;
  await store.close();
  t.mock.timers.reset();
  return { directory, last, moved, older };
}

/** The store is refused, again and again, and stays as it is; when the loss is accepted it continues behind everything that was seen. */
async function assertLost(directory: string, text: RegExp, { after }: { readonly after: number }): Promise<string[]> {
  const before = contents(directory);
  for (let tries = 0; tries < 2; tries += 1) {
    assert.throws(
      () => openNotes({ directory }),
      (error) => {
        assert.ok(isStoreError(error, "lost"), String(error));
        assert.match(error.message, text);
        assert.match(error.message, /restore both from a backup, or add --accept-data-loss once/);
        return true;
      },
    );
  }
  assert.deepEqual(contents(directory), before, "left as it is");
  const warnings: string[] = [];
  const keys = await (async (): Promise<string[]> => {
    await using store = openNotes({ directory, acceptsLoss: true, onWarning: (said) => warnings.push(said) });
    assert.deepEqual([store.revision, store.compactedRevision], [after, after], "no revision comes again");
    const found = show(store.list({ prefix: "/" }).entries);
    await put(store, "/after", "1");
    return found;
  })();
  assert.match(warnings.join("\n"), /are lost, as was accepted/);
  await using again = openNotes({ directory, onWarning: assert.fail });
  assert.equal(again.get("/after")?.revision, after + 1);
  return keys;
}

function contents(directory: string): Record<string, string> {
  const names = readdirSync(directory).filter((name) => [storeFile, walFile, acknowledgedFile].includes(name));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name)).toString("base64")]));
}

const remove = (directory: string, ...names: readonly string[]): void => {
  for (const name of names) rmSync(join(directory, name));
};
const copy = (from: string, to: string, ...names: readonly string[]): void => {
  for (const name of names) cpSync(join(from, name), join(to, name));
};

const withoutLog: Record<string, (directory: string) => void> = {
  "both are removed": (directory) => remove(directory, walFile, acknowledgedFile),
  "the log is emptied and the marker removed": (directory) => {
    truncateSync(join(directory, walFile));
    remove(directory, acknowledgedFile);
  },
  "the log is removed and the marker garbage": (directory) => {
    remove(directory, walFile);
    writeFileSync(join(directory, acknowledgedFile), "garbage");
  },
  "the log ends inside of its first commit and the marker is empty": (directory) => {
    truncateSync(join(directory, walFile), 100);
    truncateSync(join(directory, acknowledgedFile));
  },
};
for (const [why, damage] of Object.entries(withoutLog)) {
  test(`a crashed store without its log and its marker is refused: ${why}`, async (t) => {
    const { directory, moved } = await crashed(t, "own");
    damage(directory);
    const text = new RegExp(`ends at revision ${moved}, and its server did not stop in order: .* missing or empty`);
    assert.deepEqual(await assertLost(directory, text, { after: moved + revisionGap }), ["/own/first=1@2"]);
  });
}

test("a copy of the database alone, of a crashed or a running server, is refused", async (t) => {
  const { directory, moved } = await crashed(t, "own");
  const elsewhere = tempDirectory();
  copy(directory, elsewhere, storeFile);
  await assertLost(elsewhere, /its server did not stop in order/, { after: moved + revisionGap });
});

test("a store that lost all of its writes with its log and its marker continues behind them", async () => {
  const [running, directory] = [tempDirectory(), tempDirectory()];
  await using store = openNotes({ directory: running });
  await put(store, "/a", "1");
  copy(running, directory, storeFile);
  await assertLost(directory, /ends at revision 1, and its server did not stop in order/, { after: 1 + revisionGap });
});

test("a copy of the database alone, of a server that stopped, is whole", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
  }
  const elsewhere = tempDirectory();
  copy(directory, elsewhere, storeFile);
  await using store = openNotes({ directory: elsewhere, onWarning: assert.fail });
  assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=1@2"]);
});

test("a crashed store without its marker opens with all that its log has, and says what cannot be checked", async (t) => {
  const { directory, last } = await crashed(t, "own");
  remove(directory, acknowledgedFile);
  const warnings: string[] = [];
  {
    await using store = openNotes({ directory, onWarning: (said) => warnings.push(said) });
    assert.equal(store.revision, last);
  }
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? "", /acknowledged is missing or damaged: whether the last writes .* cannot be checked/);
  await using store = openNotes({ directory, onWarning: assert.fail });
  assert.equal(store.revision, last);
});

test("a crashed store without its log is whole when its marker proves it", async (t) => {
  const { directory, last } = await crashed(t, "own", 0);
  remove(directory, walFile);
  await using store = openNotes({ directory, onWarning: assert.fail });
  assert.equal(store.revision, last);
});

test("an index of the log that was there, which another program may use, stays", async (t) => {
  const { directory, last } = await crashed(t, "own");
  const index = join(directory, `${storeFile}-shm`);
  writeFileSync(index, "");
  await using store = openNotes({ directory, onWarning: assert.fail });
  assert.equal(store.revision, last);
  assert.ok(existsSync(index));
});

test("an older log is refused without a marker too, when the database is newer", async (t) => {
  const { directory, older, moved } = await crashed(t, "own");
  const database = new DatabaseSync(join(directory, storeFile));
  database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  database.close();
  copy(older, directory, walFile);
  remove(directory, acknowledgedFile);
  await assert.rejects(
    async () => openNotes({ directory }),
    (error) => isStoreError(error) && /^(lost|damaged)$/.test(error.code),
    `${moved}`,
  );
});

test("a log without its database is refused without a marker too", async (t) => {
  const { directory } = await crashed(t, "own");
  remove(directory, storeFile, acknowledgedFile);
  const keys = await assertLost(directory, /store\.db is missing, but its write-ahead log .* is there/, {
    after: revisionGap,
  });
  assert.deepEqual(keys, []);
  assert.ok(existsSync(join(directory, `${walFile}.lost`)), "put aside");
});

for (const writes of [0, 5, 60]) {
  test(`the log of another store, which has ${writes} writes in its second round, is refused`, async (t) => {
    const own = await crashed(t, "own");
    const other = await crashed(t, "other", writes);
    copy(other.directory, own.directory, walFile);
    const text =
      /store\.db-wal is the write-ahead log of another database \(.*\) than .*store\.db \(.*\): writes .* after revision 2/;
    const keys = await assertLost(own.directory, text, { after: own.last });
    assert.deepEqual(keys, ["/own/first=1@2"]);
    assert.ok(existsSync(join(own.directory, `${walFile}.lost`)), "put aside");
  });
}

test("the log of another store that says whose it is is refused with the names of both", async (t) => {
  const own = await crashed(t, "own");
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const other = tempDirectory();
  {
    await using store = openNotes({ directory: other });
    for (let i = 0; i < 40; i += 1) await put(store, "/other", String(i));
    store.compact(store.revision);
    // Rows are cleaned up, and the page that says up to which revision also says whose it is.
    t.mock.timers.tick(maintenanceMs);
    copy(other, own.directory, walFile);
  }
  const [theirs, ours] = [other, own.directory].map((directory) =>
    readAcknowledged(join(directory, acknowledgedFile))?.identity?.toString(16).padStart(12, "0"),
  );
  await assertLost(own.directory, new RegExp(`the store ${theirs}\\) than .* \\(the store ${ours}\\)`), {
    after: own.last,
  });
});

test("the log and the marker of another store are refused together, and without a marker", async (t) => {
  const own = await crashed(t, "own");
  const other = await crashed(t, "other", 60);
  const [both, bare] = [tempDirectory(), tempDirectory()];
  for (const directory of [both, bare]) {
    copy(own.directory, directory, storeFile);
    copy(other.directory, directory, walFile);
  }
  copy(other.directory, both, acknowledgedFile);
  for (const directory of [both, bare]) {
    await assertLost(directory, /write-ahead log of another database/, { after: own.moved + revisionGap });
  }
});

test("the log of another store beside one that was stopped in order is refused", async (t) => {
  const other = await crashed(t, "other", 60);
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
  }
  copy(other.directory, directory, walFile);
  assert.deepEqual(await assertLost(directory, /write-ahead log of another database/, { after: 2 }), ["/a=1@2"]);
});

test("the marker of another store is refused with the names of both", async (t) => {
  const own = await crashed(t, "own");
  const other = await crashed(t, "other", 5);
  copy(other.directory, own.directory, acknowledgedFile);
  const text = /store\.db is the store [0-9a-f]{12}, but .*acknowledged is of the store [0-9a-f]{12}/;
  const keys = await assertLost(own.directory, text, { after: own.last + revisionGap });
  assert.equal(keys.length, 21);
});

/** What the version before this one wrote: it knew neither identities nor which log is in use. */
function makeEarlier(directory: string): void {
  const database = new DatabaseSync(join(directory, storeFile));
  database.exec("PRAGMA user_version = 1; DELETE FROM meta WHERE name IN ('identity', 'wal')");
  database.close();
  rmSync(join(directory, acknowledgedFile), { force: true });
}

test("a store of an earlier version opens, stopped or crashed, with a marker and without", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
  }
  makeEarlier(directory);
  const killed = tempDirectory();
  const database = new DatabaseSync(join(directory, storeFile));
  database.exec("PRAGMA wal_autocheckpoint = 0; PRAGMA journal_mode = WAL; INSERT INTO meta VALUES ('other', 1, 1)");
  database.exec("DELETE FROM meta WHERE name = 'other'");
  copy(directory, killed, storeFile, walFile);
  database.close();
  for (const path of [directory, killed]) {
    for (let start = 0; start < 2; start += 1) {
      const store = openNotes({ directory: path, onWarning: assert.fail });
      assert.equal(store.get("/a")?.value.text, "1");
      const crash = tempDirectory();
      cpSync(path, crash, { recursive: true });
      await using copied = openNotes({ directory: crash, onWarning: assert.fail });
      assert.equal(copied.get("/a")?.value.text, "1");
      await put(store, `/start/${start}`, "1");
      await store.close();
    }
    assert.notEqual(readAcknowledged(join(path, acknowledgedFile))?.identity, undefined);
  }
});

interface Kill {
  readonly copy: string;
  /** How many writes were acknowledged before. */
  readonly acknowledged: number;
}

/** A copy of what a start reads; the room that a store keeps for itself would take many times as much. */
function copyOf(directory: string): string {
  const to = serverDirectory();
  const names = [storeFile, walFile, acknowledgedFile];
  copy(directory, to, ...names.filter((name) => existsSync(join(directory, name))));
  return to;
}

/** Copies of a directory, one before each statement that the store sends to its database, and one after the last. */
async function killedAnywhere(
  t: TestContext,
  directory: string,
  act: (acknowledge: () => void) => Promise<void>,
): Promise<Kill[]> {
  const copies: Kill[] = [];
  let acknowledged = 0;
  const { exec, prepare, close } = DatabaseSync.prototype;
  const kill = (): void => {
    copies.push({ copy: copyOf(directory), acknowledged });
  };
  t.mock.method(DatabaseSync.prototype, "exec", function (this: DatabaseSync, sql: string) {
    kill();
    exec.call(this, sql);
  });
  t.mock.method(DatabaseSync.prototype, "prepare", function (this: DatabaseSync, sql: string) {
    kill();
    return prepare.call(this, sql);
  });
  t.mock.method(DatabaseSync.prototype, "close", function (this: DatabaseSync) {
    kill();
    // What a kill leaves after the log was moved and before it is deleted.
    const log = join(directory, walFile);
    const bytes = existsSync(log) ? readFileSync(log) : Buffer.alloc(0);
    close.call(this);
    kill();
    if (!existsSync(log)) writeFileSync(join(copies.at(-1)?.copy ?? "", walFile), bytes);
  });
  await act(() => {
    acknowledged += 1;
  });
  t.mock.restoreAll();
  kill();
  return copies;
}

/** Opens what a kill left, with its marker and without. */
async function assertAllThere({ copy: killed, acknowledged }: Kill, what: string): Promise<void> {
  for (const hasMarker of [true, false]) {
    if (!hasMarker) rmSync(join(killed, acknowledgedFile), { force: true });
    const directory = copyOf(killed);
    const store = openNotes({ directory });
    const found = store.list({ prefix: "/" }).entries.length;
    assert.ok(found >= acknowledged, `${what}: ${found} of ${acknowledged}`);
    await store.close();
    rmSync(directory, { recursive: true });
  }
}

/** What a kill leaves that comes while the log is moved, page by page, and inside of a page where the power is cut. */
function* movedInPart(before: Kill, after: Kill): Generator<Kill> {
  const [old, moved] = [before, after].map(({ copy: killed }) => readFileSync(join(killed, storeFile)));
  const hasLog = existsSync(join(before.copy, walFile)) && readFileSync(join(before.copy, walFile)).length > 0;
  if (old === undefined || moved === undefined || !hasLog || old.equals(moved)) return;
  for (let bytes = 0; bytes <= moved.length; bytes += 2048) {
    const copied = copyOf(before.copy);
    writeFileSync(join(copied, storeFile), Buffer.concat([moved.subarray(0, bytes), old.subarray(bytes)]));
    yield { ...before, copy: copied };
  }
}

test("a kill while the log is moved into the database leaves a store that opens with all that was acknowledged", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const directory = serverDirectory();
  const kills = await killedAnywhere(t, directory, async (acknowledge) => {
    for (let life = 0; life < 2; life += 1) {
      await using store = openNotes({ directory });
      for (const round of ["first", "second"]) {
        for (let i = 0; i < 6; i += 1) {
          await put(store, `/${life}/${round}/${i}`, "x".repeat(1500));
          acknowledge();
        }
        if (round === "first") for (let quiet = 0; quiet < 3; quiet += 1) t.mock.timers.tick(maintenanceMs);
      }
    }
  });
  const stored = kills.filter(({ copy: killed }) => existsSync(join(killed, storeFile)));
  let tried = 0;
  for (const [index, after] of stored.entries()) {
    const before = stored[index - 1];
    if (before === undefined) continue;
    for (const killed of movedInPart(before, after)) {
      await assertAllThere(killed, `${index}`);
      tried += 1;
    }
  }
  assert.ok(tried > 50, `${tried}`);
});

test("a server that was idle before it stopped leaves everything in its database, and no log", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const directory = tempDirectory();
  const store = openNotes({ directory });
  await put(store, "/a", "1");
  for (let quiet = 0; quiet < 3; quiet += 1) t.mock.timers.tick(maintenanceMs);
  await store.close();
  assert.equal(existsSync(join(directory, walFile)), false);
  const elsewhere = tempDirectory();
  copy(directory, elsewhere, storeFile);
  await using copied = openNotes({ directory: elsewhere, onWarning: assert.fail });
  assert.equal(copied.get("/a")?.value.text, "1");
});

test("an older database, of a server that stopped, is refused beside the log of a later crash that names itself", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const [directory, crash] = [tempDirectory(), tempDirectory()];
  {
    await using store = openNotes({ directory });
    await put(store, "/a", "1");
  }
  const early = tempDirectory();
  copy(directory, early, storeFile);
  await using store = openNotes({ directory });
  for (let i = 0; i < 100; i += 1) await put(store, `/k/${i}`, "x".repeat(200));
  for (let quiet = 0; quiet < 3; quiet += 1) t.mock.timers.tick(maintenanceMs);
  await put(store, "/k/1", "2");
  // Rows are cleaned up, and the page that says up to which revision also says which log is in use.
  store.compact(store.revision);
  t.mock.timers.tick(maintenanceMs);
  cpSync(directory, crash, { recursive: true });
  copy(early, crash, storeFile);
  await assertLost(crash, /write-ahead log of another database/, { after: store.revision });
});

test("a kill at any moment leaves a store that opens with all that was acknowledged, with its marker and without", async (t) => {
  const directory = serverDirectory();
  const kills = await killedAnywhere(t, directory, async (acknowledge) => {
    for (let life = 0; life < 2; life += 1) {
      await using store = openNotes({ directory });
      for (const text of ["1", "2"]) {
        await put(store, `/${life}/${text}`, text);
        acknowledge();
      }
    }
  });
  assert.ok(kills.length > 30);
  for (const [index, kill] of kills.entries()) {
    if (existsSync(join(kill.copy, storeFile))) await assertAllThere(kill, `${index}`);
  }
});
