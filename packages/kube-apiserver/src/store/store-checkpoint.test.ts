// SPDX-License-Identifier: Apache-2.0
// A checkpoint blocks for as long as the disk takes to write the database file, so it waits for a quiet moment.
import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { openNotes, put, tempDirectory } from "../../test/store/temp-store.ts";
import { storeFile } from "./open-store.ts";

const maintenanceMs = 2000;

test("the database file is left alone while writes come, and brought up to date when none do", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  const database = (): string => readFileSync(join(directory, storeFile)).toString("latin1");
  for (let i = 0; i < 5; i++) {
    await put(store, `/busy/${i}`, "written");
    t.mock.timers.tick(maintenanceMs);
  }
  assert.ok(!database().includes("written"));
  t.mock.timers.tick(maintenanceMs);
  assert.ok(database().includes("written"));
  t.mock.timers.tick(10 * maintenanceMs);
  const settled = database();
  t.mock.timers.tick(10 * maintenanceMs);
  assert.equal(database(), settled);
});

test("what is cleaned up on a quiet server reaches the database file too", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout", "Date"] });
  const directory = tempDirectory();
  const keepMs = 10 * maintenanceMs;
  await using store = openNotes({ directory, history: { keepChanges: 0, keepMs } });
  const database = (): string => readFileSync(join(directory, storeFile)).toString("latin1");
  await put(store, "/key", "old version");
  await put(store, "/key", "new version");
  for (let i = 0; i < 5; i++) t.mock.timers.tick(maintenanceMs);
  const settled = database();
  assert.ok(settled.includes("new version"));
  for (let i = 0; i < 10; i++) t.mock.timers.tick(maintenanceMs);
  assert.notEqual(database(), settled, "the old version is removed");
});

test("the write-ahead log stays below twenty megabytes, however long writes come", async () => {
  const directory = tempDirectory();
  await using store = openNotes({ directory });
  const text = "x".repeat(40_000);
  let largest = 0;
  for (let i = 0; i < 60; i++) {
    await Promise.all(Array.from({ length: 20 }, (_, n) => put(store, `/large/${i}/${n}`, text)));
    largest = Math.max(largest, statSync(join(directory, `${storeFile}-wal`)).size);
  }
  assert.ok(largest > 10_000_000 && largest < 20_000_000, `${largest} bytes`);
});
