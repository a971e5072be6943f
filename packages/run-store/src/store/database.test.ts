// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import type { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import { finish } from "@purlin/base";
import { type Bounds, keepWithin, openDatabase, rowBytes } from "./database.ts";

const bounds: Bounds = { maxBytes: 1_000_000, maxAgeMs: 1000, maxRunsPerXr: 3 };

interface Row {
  readonly id: string;
  readonly xr?: string;
  readonly revision?: string;
  readonly outcome?: string;
  readonly wrote?: number;
  readonly last?: number;
  readonly parts?: string;
}

const bodyBytes = 10;
/** The bytes of a run without parts: its body, the two characters of its summary, and its row. */
const runBytes = bodyBytes + 2 + rowBytes;

function storeOf(...rows: Row[]): DatabaseSync {
  const database = openDatabase(":memory:");
  const insert = database.prepare("INSERT INTO run VALUES (?, ?, ?, ?, ?, 0, ?, x'00', '{}', ?, zeroblob(?))");
  for (const { id, xr = "x", revision = "", outcome = "ok", wrote = 0, last = 10_000, parts = "" } of rows) {
    insert.run(id, xr, revision, outcome, wrote, last, Buffer.from(parts, "hex"), bodyBytes);
  }
  return database;
}

const idsOf = (database: DatabaseSync): string[] =>
  database
    .prepare("SELECT id FROM run ORDER BY id")
    .all()
    .map(({ id }) => String(id));

function kept(
  rows: readonly Row[],
  { more = {}, bytes = 0 }: { readonly more?: Partial<Bounds>; readonly bytes?: number } = {},
): { readonly ids: string[]; readonly freed: number } {
  const database = storeOf(...rows);
  const freed = finish(keepWithin(database, { ...bounds, ...more }, { xr: "x", now: 10_000, bytes }));
  return { ids: idsOf(database), freed };
}

test("runs within the bounds stay", () => {
  assert.deepEqual(kept([{ id: "1" }, { id: "2" }, { id: "3" }]), { ids: ["1", "2", "3"], freed: 0 });
});

test("of too many runs the oldest go", () => {
  assert.deepEqual(kept([{ id: "1" }, { id: "2" }, { id: "3" }, { id: "4" }, { id: "5" }]), {
    ids: ["3", "4", "5"],
    freed: 2 * runBytes,
  });
});

test("runs of other composite resources do not count", () => {
  assert.deepEqual(kept([{ id: "1", xr: "y", last: 0 }, { id: "2" }, { id: "3" }, { id: "4" }]).ids, [
    "1",
    "2",
    "3",
    "4",
  ]);
});

test("the last failure, the last write and the first run of each revision stay longest", () => {
  const rows: Row[] = [
    { id: "1", revision: "a" },
    { id: "2", revision: "a", outcome: "failed" },
    { id: "3", revision: "a", wrote: 1 },
    { id: "4", revision: "b" },
    { id: "5", revision: "b" },
    { id: "6", revision: "b" },
  ];
  assert.deepEqual(kept(rows, { more: { maxRunsPerXr: 1 } }).ids, ["1", "2", "3", "4", "6"]);
});

test("runs that are too old go, apart from those", () => {
  const rows: Row[] = [
    { id: "1", last: 8_999 },
    { id: "2", last: 8_999, wrote: 1 },
    { id: "3", last: 9_000 },
    { id: "4", last: 8_000 },
  ];
  assert.deepEqual(kept(rows, { more: { maxRunsPerXr: 9 } }).ids, ["2", "3", "4"], "the last run stays, however old");
});

test("of a store that is too large the oldest runs go, those worth keeping last", () => {
  const rows: Row[] = [{ id: "1", xr: "y" }, { id: "2", wrote: 1 }, { id: "3" }, { id: "4" }, { id: "5" }];
  const more = { maxBytes: 1000, maxRunsPerXr: 9 };
  assert.deepEqual(kept(rows, { more, bytes: 1001 }), { ids: ["1", "2", "4", "5"], freed: runBytes });
  assert.deepEqual(kept(rows, { more, bytes: 1000 + 2 * runBytes }).ids, ["1", "2", "5"]);
  assert.deepEqual(kept(rows, { more, bytes: 1000 + 3 * runBytes }).ids, ["2", "5"], "then the only run of another");
  assert.deepEqual(kept(rows, { more, bytes: 1_000_000 }).ids, []);
});

test("objects go with the last run that has them, and packs with their last object", () => {
  const [a, b] = ["a".repeat(32), "b".repeat(32)];
  const database = storeOf({ id: "1", parts: a + b }, { id: "2", parts: b }, { id: "3" }, { id: "4" }, { id: "5" });
  database.exec(
    `INSERT INTO pack VALUES (1, 2, zeroblob(100)); INSERT INTO part VALUES ('${a}', 1, 0, 1, 1), ('${b}', 1, 1, 1, 2)`,
  );
  const partsOf = (): unknown[] =>
    database
      .prepare("SELECT ref, refs FROM part")
      .all()
      .map(({ ref, refs }) => [ref, refs]);
  const within = (maxRunsPerXr: number): number =>
    finish(keepWithin(database, { ...bounds, maxRunsPerXr }, { xr: "x", now: 10_000, bytes: 0 }));
  assert.equal(within(4), runBytes + 32 + rowBytes, "the run with its two references, and one object");
  assert.deepEqual(partsOf(), [[b, 1]]);
  assert.equal(within(3), runBytes + 16 + 100 + 2 * rowBytes, "the last object takes the pack with it");
  assert.deepEqual([partsOf(), database.prepare("SELECT count(*) AS n FROM pack").get()?.["n"]], [[], 0]);
});

test("a store whose runs are all worth keeping is searched in parts", () => {
  const rows = Array.from({ length: 640 }, (_, index) => ({ id: `${index}`.padStart(3, "0"), xr: `x${index}` }));
  const database = storeOf(...rows);
  const work = keepWithin(database, { ...bounds, maxBytes: 1000 }, { xr: "x", now: 10_000, bytes: 1001 });
  let parts = 0;
  while (!work.next().done) parts++;
  assert.ok(parts >= 10, `${parts} parts`);
  assert.deepEqual(idsOf(database)[0], "001", "the oldest went all the same");
});

test("a run that is removed in parts is not read with some of its objects", () => {
  const parts = Array.from({ length: 600 }, (_, index) => index.toString(16).padStart(32, "0")).join("");
  const database = storeOf({ id: "1", parts }, { id: "2" }, { id: "3" }, { id: "4" });
  const work = keepWithin(database, bounds, { xr: "x", now: 10_000, bytes: 0 });
  assert.equal(work.next().done, false);
  assert.deepEqual(idsOf(database), ["2", "3", "4"]);
  finish(work);
});
