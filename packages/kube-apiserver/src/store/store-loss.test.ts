// SPDX-License-Identifier: Apache-2.0
// Files of the store that are removed, emptied or replaced while the server is down, or while it runs.
import assert from "node:assert/strict";
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type Note, openNotes, put, show, tempDirectory } from "../../test/store/temp-store.ts";
import { acknowledgedFile, readAcknowledged } from "./acknowledged.ts";
import { storeFile } from "./open-store.ts";
import type { Store } from "./store.ts";
import { isStoreError } from "./store-error.ts";

const walFile = `${storeFile}-wal`;

/** A directory as a kill leaves it, and one as it was after half of the writes. */
async function crashed(): Promise<{ directory: string; older: string; last: number; half: number }> {
  const running = tempDirectory();
  const [directory, older] = [tempDirectory(), tempDirectory()];
  await using store = openNotes({ directory: running });
  let half = 0;
  for (let i = 0; i < 20; i += 1) {
    await put(store, `/k/${i}`, `value ${i}`);
    if (i !== 9) continue;
    half = store.revision;
    cpSync(running, older, { recursive: true });
  }
  cpSync(running, directory, { recursive: true });
  return { directory, older, last: store.revision, half };
}

type Damage = (directory: string, older: string) => void;
const remove =
  (...names: string[]): Damage =>
  (directory) => {
    for (const name of names) rmSync(join(directory, name));
  };
const copy =
  (...names: string[]): Damage =>
  (directory, older) => {
    for (const name of names) cpSync(join(older, name), join(directory, name));
  };

const losses: Record<string, { readonly damage: Damage; readonly found: (half: number) => number }> = {
  "the write-ahead log is missing": { damage: remove(walFile), found: () => 1 },
  "the write-ahead log is empty": { damage: (directory) => truncateSync(join(directory, walFile), 0), found: () => 1 },
  "the write-ahead log is a header": {
    damage: (directory) => truncateSync(join(directory, walFile), 32),
    found: () => 1,
  },
  "the write-ahead log ends inside of its first commit": {
    damage: (directory) => truncateSync(join(directory, walFile), 100),
    found: () => 1,
  },
  "the write-ahead log is an older one": { damage: copy(walFile), found: (half) => half },
  "the database and its log are older ones": { damage: copy(walFile, storeFile), found: (half) => half },
  "the database is missing": { damage: remove(storeFile), found: () => 0 },
  "the database and its log are missing": { damage: remove(storeFile, walFile), found: () => 0 },
};
for (const [why, { damage, found }] of Object.entries(losses)) {
  test(`lost writes are noticed, and accepted only on request: ${why}`, async () => {
    const { directory, older, last, half } = await crashed();
    damage(directory, older);
    const before = snapshot(directory);
    const isLost = (error: unknown): boolean => {
      assert.ok(isStoreError(error, "lost"), String(error));
      const ends = `ends at revision ${found(half)}, but writes up to revision ${last} were acknowledged`;
      assert.ok(error.message.includes(ends), error.message);
      return /restore both from a backup, or add --accept-data-loss once/.test(error.message);
    };
    const warnings: string[] = [];
    const onWarning = (text: string): number => warnings.push(text);
    assert.throws(() => openNotes({ directory, onWarning }), isLost);
    assert.throws(() => openNotes({ directory, onWarning }), isLost, "and again");
    assert.deepEqual(snapshot(directory), before, "left as it is");
    assert.deepEqual(warnings, [], "the error says it all");
    {
      await using store = openNotes({ directory, acceptsLoss: true, onWarning });
      assert.equal(store.revision, last, "no revision comes again");
      assert.throws(() => store.watch({ scope: "/", after: last - 1, onReady: () => {} }), /./, "watchers list again");
      assert.equal((await put(store, "/after", "1"))?.revision, last + 1);
    }
    assert.match(warnings.join("\n"), /are lost, as was accepted/);
    await using again = openNotes({ directory });
    assert.equal(again.get("/after")?.value.text, "1");
  });
}

function snapshot(directory: string): Record<string, string> {
  const names = [storeFile, walFile, acknowledgedFile].filter((name) => existsSync(join(directory, name)));
  return Object.fromEntries(names.map((name) => [name, readFileSync(join(directory, name)).toString("base64")]));
}

const harmless: Record<string, Damage> = {
  nothing: () => {},
  "no marker, as of an earlier version": remove(acknowledgedFile),
  "an older marker, as after a power cut": copy(acknowledgedFile),
  "a marker that is garbage": (directory) => writeFileSync(join(directory, acknowledgedFile), "99999999999999 x"),
  "an empty marker": (directory) => truncateSync(join(directory, acknowledgedFile), 0),
  "a marker with a wrong checksum": (directory) =>
    writeFileSync(join(directory, acknowledgedFile), "0000000000009999 00000000\n"),
  "a marker with more behind it": (directory) => appendFileSync(join(directory, acknowledgedFile), "more"),
  "an older directory as a whole": copy(storeFile, walFile, acknowledgedFile),
};
for (const [why, damage] of Object.entries(harmless)) {
  test(`a store that lost nothing opens: ${why}`, async () => {
    const { directory, older } = await crashed();
    damage(directory, older);
    await using store = openNotes({ directory });
    await put(store, "/after", "1");
    assert.equal(readAcknowledged(join(directory, acknowledgedFile))?.revision, store.revision);
  });
}

test("the marker follows every commit, and a restart after any number of writes finds nothing lost", async () => {
  const directory = tempDirectory();
  for (let round = 0; round < 5; round += 1) {
    await using store = openNotes({ directory });
    for (let i = 0; i < 10; i += 1) {
      await Promise.all([put(store, `/k/${i}`, String(round)), put(store, `/l/${i}`, undefined)]);
      assert.equal(readAcknowledged(join(directory, acknowledgedFile))?.revision, store.revision);
    }
    store.compact(store.revision);
  }
});

const moves: Record<
  string,
  { readonly away: (directory: string) => void; readonly back?: (directory: string) => void }
> = {
  "the directory is removed": { away: (directory) => rmSync(directory, { recursive: true }) },
  "the directory is moved": {
    away: (directory) => renameSync(directory, `${directory}.moved`),
    back: (directory) => renameSync(`${directory}.moved`, directory),
  },
  "the directory is replaced by an empty one": {
    away: (directory) => {
      renameSync(directory, `${directory}.moved`);
      mkdirSync(directory);
    },
    back: (directory) => {
      rmSync(directory, { recursive: true });
      renameSync(`${directory}.moved`, directory);
    },
  },
  "the directory is replaced by a copy": {
    away: (directory) => {
      renameSync(directory, `${directory}.moved`);
      cpSync(`${directory}.moved`, directory, { recursive: true });
    },
  },
  "the directory is replaced by a file": {
    away: (directory) => {
      renameSync(directory, `${directory}.moved`);
      writeFileSync(directory, "");
    },
    back: (directory) => {
      rmSync(directory);
      renameSync(`${directory}.moved`, directory);
    },
  },
  "the database is removed": { away: (directory) => rmSync(join(directory, storeFile)) },
  "the write-ahead log is removed": { away: (directory) => rmSync(join(directory, walFile)) },
  "the database is replaced by a copy": {
    away: (directory) => {
      const path = join(directory, storeFile);
      cpSync(path, `${path}.copy`);
      renameSync(`${path}.copy`, path);
    },
  },
};
for (const [why, { away, back }] of Object.entries(moves)) {
  test(`writes fail at once, and reading continues: ${why}`, async () => {
    const directory = tempDirectory();
    const store = openNotes({ directory });
    await put(store, "/a", "1");
    assert.equal(store.problem, undefined);
    away(directory);
    assertMisplaced(store.problem);
    await assert.rejects(put(store, "/a", "2"), assertMisplaced);
    await assert.rejects(put(store, "/a", undefined), assertMisplaced);
    assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=1@2"]);
    if (back !== undefined) {
      back(directory);
      await assertWorks(store);
    }
    await store.close();
    rmSync(`${directory}.moved`, { recursive: true, force: true });
  });
}

function assertMisplaced(error: unknown): true {
  assert.ok(isStoreError(error, "unavailable"), String(error));
  assert.match(
    error.message,
    /store\.db(-wal)? was removed, moved or replaced while the server was running: move .* back/,
  );
  return true;
}

async function assertWorks(store: Store<Note>): Promise<void> {
  await put(store, "/a", "3");
  assert.equal(store.problem, undefined);
  assert.equal(store.get("/a")?.value.text, "3");
}
