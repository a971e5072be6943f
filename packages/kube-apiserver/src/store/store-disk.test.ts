// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Note, noteCodec, openNotes, put, show, takeAll, tempDirectory } from "../../test/store/temp-store.ts";
import { ChangeLog, createChangeLog, type LogCommit } from "./change-log.ts";
import { takeDataDirectory } from "./data-directory.ts";
import { defaultHistory } from "./history.ts";
import { LogStore } from "./log-store.ts";
import type { Store } from "./store.ts";
import { isStoreError } from "./store-error.ts";
import { Decoder } from "./version.ts";

/** A log whose commits fail with the error while there is one. */
class FailingLog extends ChangeLog {
  failure: Error | undefined;

  override commit(commit: LogCommit): void {
    if (this.failure !== undefined) throw this.failure;
    super.commit(commit);
  }
}

function openFailing(now: () => number = Date.now): { store: Store<Note>; log: FailingLog; directory: string } {
  const directory = takeDataDirectory(tempDirectory());
  const log = new FailingLog({ path: directory.file("store.db", createChangeLog) });
  const decoder = new Decoder(noteCodec, 1000);
  const store = new LogStore({ log, directory, codec: noteCodec, decoder, limits: defaultHistory, now });
  return { store, log, directory: directory.path };
}

const sqliteError = (errcode: number, message: string): Error => Object.assign(new Error(message), { errcode });

test("a full store refuses writes with a typed error, continues to read, and recovers when there is room", async () => {
  const directory = tempDirectory();
  let acknowledged: string[];
  {
    await using store = openNotes({ directory, maxBytes: 200_000 });
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 1000; i += 1) {
        await put(store, `/fill/${i}`, "x".repeat(2000));
      }
    };
    await assert.rejects(
      fill(),
      (error) =>
        isStoreError(error, "unavailable") &&
        error.message.includes(directory) &&
        /is full: free some space/.test(error.message),
    );
    acknowledged = show(store.list({ prefix: "/" }).entries);
    assert.ok(acknowledged.length > 10);
    await assert.rejects(put(store, "/big", "x".repeat(100_000)), (error) => isStoreError(error, "unavailable"));
    assert.deepEqual(show(store.list({ prefix: "/" }).entries), acknowledged, "nothing of it is visible");
  }
  await using store = openNotes({ directory, maxBytes: 400_000 });
  assert.deepEqual(show(store.list({ prefix: "/" }).entries), acknowledged);
  await put(store, "/big", "x".repeat(100_000));
});

test("writes queued behind one that finds the disk full are refused with it, and are not on disk", async () => {
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory, maxBytes: 2_000_000 });
    await put(store, "/a", "1");
    // Larger than a group, so that those behind it are commits of their own, for which there is room.
    const tooLarge = put(store, "/a", "x".repeat(5_000_000));
    const onTop = store.write("/a", ({ current }) => ({
      action: "put",
      value: { text: `rests on ${current?.value.text.length} characters` },
    }));
    const beside = store.write("/b", ({ peek }) =>
      peek("/a")?.value.text === "1" ? { action: "keep" } : { action: "put", value: { text: "saw the large one" } },
    );
    const last = put(store, "/c", "1");
    for (const write of [tooLarge, onTop, beside, last]) {
      await assert.rejects(write, (error) => isStoreError(error, "unavailable") && /is full/.test(error.message));
    }
    assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=1@2"]);
    await put(store, "/d", "there is room for small ones");
  }
  await using store = openNotes({ directory });
  assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=1@2", "/d=there is room for small ones@7"]);
});

test("writes queued when a chore meets a failed sync are refused", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { store, log } = openFailing();
  await using _closing = store;
  await put(store, "/a", "1");
  await put(store, "/a", "2");
  store.compact(store.revision);
  const queued = put(store, "/a", "3");
  log.failure = sqliteError(1034, "disk I/O error");
  t.mock.timers.tick(10_000);
  log.failure = undefined;
  await assert.rejects(queued, (error) => isStoreError(error, "unavailable") && /the disk failed/.test(error.message));
  assert.equal(store.get("/a")?.value.text, "2");
});

const passing: Record<string, { reason: string; error: Error; text: RegExp }> = {
  Full: { reason: "SQLITE_FULL", error: sqliteError(13, "database or disk is full"), text: /full: free some space/ },
  ReadOnly: {
    reason: "SQLITE_READONLY",
    error: sqliteError(8, "attempt to write"),
    text: /read-only: make it writable/,
  },
  WriteFailed: {
    reason: "SQLITE_IOERR_WRITE",
    error: sqliteError(778, "disk I/O error"),
    text: /disk I\/O error; reading continues/,
  },
};

for (const [name, { reason, error, text }] of Object.entries(passing)) {
  test(`a disk that refuses for a while: ${name}`, async () => {
    const { store, log, directory } = openFailing();
    await using _closing = store;
    await put(store, "/a", "1");
    const watch = store.watch({ scope: "/", after: 2, onReady: () => {} });
    log.failure = error;
    const writes = [put(store, "/a", "2"), put(store, "/b", "1"), store.write("/a", () => ({ action: "keep" }))];
    for (const write of writes) {
      await assert.rejects(write, (failure) => {
        assert.ok(
          isStoreError(failure, "unavailable") && failure.cause === error && failure.message.includes(directory),
          reason,
        );
        assert.match(failure.message, text);
        return true;
      });
    }
    assert.deepEqual(show(store.list({ prefix: "/" }).entries), ["/a=1@2"], "memory is as it was");
    assert.deepEqual(takeAll(watch), []);
    log.failure = undefined;
    await put(store, "/a", "3");
    assert.deepEqual(takeAll(watch), ["~/a 1>3 @5"], "revisions of failed writes are not used again");
    assert.deepEqual(store.list({ prefix: "/", revision: 4 }).entries.length, 1, "and their gap can be listed");
  });
}

const lasting: Record<string, { reason: string; error: Error }> = {
  SyncFailed: { reason: "SQLITE_IOERR_FSYNC: what is on disk is unknown", error: sqliteError(1034, "disk I/O error") },
  DirectorySyncFailed: { reason: "SQLITE_IOERR_DIR_FSYNC", error: sqliteError(1290, "disk I/O error") },
  Corrupt: { reason: "SQLITE_CORRUPT: writing on makes it worse", error: sqliteError(11, "malformed") },
};

for (const [name, { reason, error }] of Object.entries(lasting)) {
  test(`a disk that can no longer be trusted takes no writes until a restart: ${name}`, async () => {
    const { store, log, directory } = openFailing();
    await put(store, "/a", "1");
    log.failure = error;
    await assert.rejects(put(store, "/a", "2"), (failure) => isStoreError(failure, "unavailable"), reason);
    log.failure = undefined;
    await assert.rejects(put(store, "/a", "3"), (failure) => isStoreError(failure, "unavailable"), reason);
    assert.equal(store.get("/a")?.value.text, "1", "reading continues");
    await store.close();
    await using reopened = openNotes({ directory });
    assert.equal((await put(reopened, "/a", "4"))?.value.text, "4");
  });
}

test("expiry and cleaning up try again after the disk has refused", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const { store, log } = openFailing();
  await using _closing = store;
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  await store.write("/ev", () => ({ action: "put", value: { text: "1" }, expiresAt: 1000 }));
  await put(store, "/a", "1");
  await put(store, "/a", "2");
  store.compact(store.revision);
  log.failure = sqliteError(13, "full");
  t.mock.timers.tick(10_000);
  await turn();
  assert.notEqual(store.get("/ev"), undefined);
  log.failure = undefined;
  t.mock.timers.tick(10_000);
  await turn();
  assert.equal(store.get("/ev"), undefined);
});

test("a refused write is a problem until one is taken, or for a while", async () => {
  let now = 0;
  const { store, log } = openFailing(() => now);
  assert.equal(store.problem, undefined);
  const fail = async (): Promise<void> => {
    log.failure = sqliteError(13, "database or disk is full");
    await assert.rejects(put(store, "/a", "1"));
    log.failure = undefined;
  };
  await fail();
  assert.ok(isStoreError(store.problem, "unavailable"));
  await put(store, "/a", "2");
  assert.equal(store.problem, undefined, "one was taken");
  await fail();
  now += 31_000;
  assert.equal(store.problem, undefined, "the problem is not remembered");
  await store.close();
  assert.ok(isStoreError(store.problem, "closed"));
});
