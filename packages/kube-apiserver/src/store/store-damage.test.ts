// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { copyFileSync, existsSync, readFileSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import fc from "fast-check";
import { openNotes, put, show, tempDirectory } from "../../test/store/temp-store.ts";
import { acknowledgedFile } from "./acknowledged.ts";
import { storeFile } from "./open-store.ts";
import { isStoreError } from "./store-error.ts";

const walFile = `${storeFile}-wal`;

interface Contents {
  readonly revision: number;
  readonly compacted: number;
  readonly entries: readonly string[];
}

/** What is in the store, or why it refused to open; whatever else happens is a bug. */
async function read(directory: string, warnings: string[] = []): Promise<Contents | string> {
  try {
    await using store = openNotes({ directory, onWarning: (text) => warnings.push(text) });
    const entries = show(store.list({ prefix: "/" }).entries);
    return { revision: store.revision, compacted: store.compactedRevision, entries };
  } catch (error) {
    assert.ok(isStoreError(error), String(error));
    return error.code;
  }
}

/** A closed store with some history and some of it compacted. */
async function closedStore(): Promise<string> {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  for (let i = 0; i < 60; i += 1) {
    await put(store, `/k/${i % 20}`, `value ${i} ${"x".repeat(300)}`);
  }
  store.compact(30);
  await put(store, "/k/0", undefined);
  return directory;
}

const damages: Record<string, { reason: string; damage: (path: string) => void; want: string; text?: RegExp }> = {
  Empty: { reason: "all gone", damage: (path) => truncateSync(path, 0), want: "damaged", text: /the file is empty/ },
  Text: {
    reason: "not a database at all",
    damage: (path) => writeFileSync(path, "hello ".repeat(1000)),
    want: "damaged",
  },
  Short: { reason: "cut in a page", damage: (path) => truncateSync(path, 10_000), want: "damaged" },
  ShortByPages: { reason: "cut between pages", damage: (path) => truncateSync(path, 8192), want: "damaged" },
  NoTable: {
    reason: "ours, but the log is missing",
    damage: (path) => {
      const database = new DatabaseSync(path);
      database.exec("DROP TABLE change");
      database.close();
    },
    want: "damaged",
  },
  Value: {
    reason: "a value that was changed behind our back",
    damage: (path) => {
      const database = new DatabaseSync(path);
      database.exec("UPDATE change SET value = replace(value, 'value', 'VALUE') WHERE key = '/k/7'");
      database.close();
    },
    want: "damaged",
    text: /revision \d+ of "\/k\/7" has a wrong checksum/,
  },
  ValueType: {
    reason: "a value of another type",
    damage: (path) => {
      const database = new DatabaseSync(path);
      database.exec("UPDATE change SET value = 135387911911540 WHERE key = '/k/7'");
      database.close();
    },
    want: "damaged",
    text: /revision \d+ of "\/k\/7" has a wrong checksum/,
  },
};

for (const [name, { reason, damage, want, text }] of Object.entries(damages)) {
  test(`a damaged store refuses to start and says what to do: ${name}`, async () => {
    const directory = await closedStore();
    damage(join(directory, storeFile));
    const before = readFileSync(join(directory, storeFile));
    assert.throws(
      () => openNotes({ directory }),
      (error) => {
        assert.ok(isStoreError(error, want as "damaged"), `${reason}: ${error}`);
        assert.match(error.message, text ?? /restore a backup, or move it away/);
        return true;
      },
    );
    assert.deepEqual(readFileSync(join(directory, storeFile)), before, "left as it is");
    assert.throws(() => openNotes({ directory }), "and the lock was released");
  });
}

test("a flipped bit in each byte of the first page, where the tables are described, is noticed or changes nothing", async () => {
  const directory = await closedStore();
  const path = join(directory, storeFile);
  const original = readFileSync(path);
  const intact = JSON.stringify(await read(directory));
  for (let at = 3600; at < 4096; at += 1) {
    const flipped = Buffer.from(original);
    flipped[at] = (flipped[at] ?? 0) ^ 0x80;
    writeFileSync(path, flipped);
    const found = await read(directory);
    assert.ok(typeof found === "string" || JSON.stringify(found) === intact, `at ${at}: ${JSON.stringify(found)}`);
  }
});

test("a flipped bit anywhere in the database is noticed or changes nothing that can be read", async () => {
  const directory = await closedStore();
  const path = join(directory, storeFile);
  const original = readFileSync(path);
  const intact = await read(directory);
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: original.length - 1 }), fc.nat({ max: 7 }), async (at, bit) => {
      const flipped = Buffer.from(original);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
      writeFileSync(path, flipped);
      const found = await read(directory);
      assert.ok(typeof found === "string" || JSON.stringify(found) === JSON.stringify(intact), JSON.stringify(found));
    }),
    { numRuns: 150, examples: [28, 40, 56, 60, 63, 68, 71, 100, 103, 4096].map((at): [number, number] => [at, 0]) },
  );
});

/** A directory as a kill leaves it: the log not yet moved into the database; and what was in it after each commit. */
async function crashedStore(): Promise<{ directory: string; states: Contents[] }> {
  const running = tempDirectory();
  const directory = tempDirectory();
  await using store = openNotes({ directory: running });
  const states: Contents[] = [];
  for (let i = 0; i < 12; i += 1) {
    await Promise.all(
      Array.from({ length: i % 3 === 0 ? 8 : 1 }, (_, j) => put(store, `/k/${i}/${j}`, "x".repeat(900))),
    );
    const entries = show(store.list({ prefix: "/" }).entries);
    states.push({ revision: store.revision, compacted: 1, entries });
  }
  for (const name of [storeFile, walFile, acknowledgedFile]) {
    copyFileSync(join(running, name), join(directory, name));
  }
  return { directory, states };
}

test("a killed server's log is recovered whole", async () => {
  const { directory, states } = await crashedStore();
  const warnings: string[] = [];
  assert.deepEqual(await read(directory, warnings), states.at(-1));
  assert.deepEqual(warnings, []);
});

test("a log cut at any place is refused, or gives the state of a commit when that is accepted", async () => {
  const { directory, states } = await crashedStore();
  const files = [storeFile, walFile, acknowledgedFile];
  const [database, wal, marker] = files.map((name) => readFileSync(join(directory, name)));
  assert.ok(database !== undefined && wal !== undefined && marker !== undefined);
  const known = new Set([[], ...states.map(({ entries }) => entries)].map((entries) => JSON.stringify(entries)));
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: wal.length }), async (length) => {
      const cut = wal.subarray(0, length);
      for (const [name, bytes] of [
        [storeFile, database],
        [walFile, cut],
        [acknowledgedFile, marker],
      ] as const) {
        writeFileSync(join(directory, name), bytes);
      }
      const found = await read(directory);
      if (typeof found !== "string") return assert.deepEqual(found, states.at(-1));
      assert.equal(found, "lost");
      assert.deepEqual(readFileSync(join(directory, walFile)), cut, "left as it is");
      await using store = openNotes({ directory, acceptsLoss: true });
      assert.ok(known.has(JSON.stringify(show(store.list({ prefix: "/" }).entries))));
      const last = states.at(-1)?.revision ?? 0;
      assert.deepEqual([store.revision, store.compactedRevision], [last, last], "no revision comes again");
      assert.equal((await put(store, "/after", "1"))?.revision, last + 1);
    }),
    { numRuns: 60, examples: [[0], [31], [32], [56], [wal.length]] },
  );
});

test("a flipped bit anywhere in the log never swallows commits in silence", async () => {
  const { directory, states } = await crashedStore();
  const [database, wal] = [readFileSync(join(directory, storeFile)), readFileSync(join(directory, walFile))];
  const last = JSON.stringify(states.at(-1));
  await fc.assert(
    fc.asyncProperty(fc.nat({ max: wal.length - 1 }), fc.nat({ max: 7 }), async (at, bit) => {
      const flipped = Buffer.from(wal);
      flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
      writeFileSync(join(directory, storeFile), database);
      writeFileSync(join(directory, walFile), flipped);
      const found = await read(directory);
      if (typeof found === "string") {
        assert.match(found, /^(damaged|lost)$/);
        assert.ok(existsSync(join(directory, walFile)), "kept for repair");
      } else {
        assert.equal(JSON.stringify(found), last);
      }
    }),
    { numRuns: 150, examples: [0, 8, 16, 24, 31, 32, 36, 40, 44, 48, wal.length - 1].map((at) => [at, 0]) },
  );
});
