// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Note, openNotes, put, takeAll, tempDirectory } from "../../test/store/temp-store.ts";
import type { Store } from "./store.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function expiring(store: Store<Note>, key: string, expiresAt: number | undefined): Promise<unknown> {
  return store.write(key, () => ({ action: "put", value: { text: "1" }, expiresAt }));
}

test("an entry is deleted when it expires, and watchers see it", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  await using store = openNotes();
  await expiring(store, "/ev/a", 10_000);
  await expiring(store, "/ev/b", 60_000);
  await expiring(store, "/ev/c", undefined);
  const watch = store.watch({ scope: "/ev/", after: store.revision, onReady: () => {} });
  t.mock.timers.tick(9_000);
  await turn();
  assert.deepEqual(takeAll(watch), []);
  t.mock.timers.tick(4_000);
  await turn();
  assert.deepEqual(takeAll(watch), ["-/ev/a 1> @5"]);
  t.mock.timers.tick(3_600_000);
  await turn();
  assert.deepEqual(takeAll(watch), ["-/ev/b 1> @6"]);
  assert.equal(store.get("/ev/c")?.value.text, "1");
});

test("a write sets the time again, also to never", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  await using store = openNotes();
  await expiring(store, "/ev/a", 10_000);
  await expiring(store, "/ev/a", 50_000);
  await expiring(store, "/ev/b", 10_000);
  await put(store, "/ev/b", "for good");
  t.mock.timers.tick(20_000);
  await turn();
  assert.notEqual(store.get("/ev/a"), undefined);
  t.mock.timers.tick(40_000);
  await turn();
  assert.deepEqual([store.get("/ev/a"), store.get("/ev/b")?.value.text], [undefined, "for good"]);
});

test("entries that expired while the store was closed are deleted after the start", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const directory = tempDirectory();
  {
    await using store = openNotes({ directory });
    await expiring(store, "/ev/a", 10_000);
  }
  t.mock.timers.tick(100_000);
  await using store = openNotes({ directory });
  assert.notEqual(store.get("/ev/a"), undefined, "watchers must be able to see it go");
  t.mock.timers.tick(5_000);
  await turn();
  assert.equal(store.get("/ev/a"), undefined);
});

test("a clock that goes back deletes nothing early", async () => {
  let now = 1_000_000;
  await using store = openNotes({ now: () => now });
  await expiring(store, "/ev/a", 1_010_000);
  now = 0;
  await put(store, "/b", "1");
  assert.notEqual(store.get("/ev/a"), undefined);
  assert.equal(store.revision, 3, "revisions do not come from the clock");
});
