// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, test } from "node:test";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { checkWal } from "./wal-check.ts";

const directory = tempDirectory();
const path = join(directory, "try-wal");
const frame = 24 + 4096;
let wal: Buffer;
let database: DatabaseSync;

// A log of five commits of one frame each and one of three.
before(() => {
  database = new DatabaseSync(join(directory, "db"));
  database.exec(
    "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (x BLOB); PRAGMA wal_checkpoint(TRUNCATE)",
  );
  for (let i = 0; i < 5; i += 1) {
    database.exec("INSERT INTO t VALUES (zeroblob(10))");
  }
  database.exec("INSERT INTO t VALUES (zeroblob(7000))");
  wal = readFileSync(join(directory, "db-wal"));
  assert.equal(wal.length, 32 + 8 * frame);
});
after(() => database.close());

const at = (index: number): number => 32 + index * frame;

function flip(...offsets: readonly number[]): Buffer {
  const bytes = Buffer.from(wal);
  for (const offset of offsets) {
    bytes[offset] = (bytes[offset] ?? 0) ^ 1;
  }
  return bytes;
}

const cases: Record<string, { reason: string; bytes: () => Buffer; damaged: boolean; unfinished: number }> = {
  Whole: { reason: "nothing is wrong", bytes: () => wal, damaged: false, unfinished: 0 },
  Empty: { reason: "a clean shutdown", bytes: () => Buffer.alloc(0), damaged: false, unfinished: 0 },
  HeaderOnly: { reason: "no commit yet", bytes: () => wal.subarray(0, 32), damaged: false, unfinished: 0 },
  CutInLastCommit: {
    reason: "killed while writing",
    bytes: () => wal.subarray(0, at(7)),
    damaged: false,
    unfinished: 2,
  },
  CutInFrame: {
    reason: "killed while writing a frame",
    bytes: () => wal.subarray(0, at(6) + 99),
    damaged: false,
    unfinished: 2,
  },
  CutInFirstFrameOfCommit: {
    reason: "killed while writing a frame, and nothing else of its commit is there",
    bytes: () => wal.subarray(0, at(3) + 99),
    damaged: false,
    unfinished: 1,
  },
  CutInFrameHeader: {
    reason: "too little to say whose frame it is",
    bytes: () => wal.subarray(0, at(3) + 9),
    damaged: false,
    unfinished: 1,
  },
  CutInHeader: {
    reason: "the first commit had begun",
    bytes: () => wal.subarray(0, 20),
    damaged: false,
    unfinished: 1,
  },
  CutInFirstFrameHeader: {
    reason: "the first commit had begun",
    bytes: () => wal.subarray(0, 40),
    damaged: false,
    unfinished: 1,
  },
  CutBetween: { reason: "killed between commits", bytes: () => wal.subarray(0, at(5)), damaged: false, unfinished: 0 },
  TornLastCommit: {
    reason: "a power cut may write frames out of order",
    bytes: () => flip(at(5) + 100),
    damaged: false,
    unfinished: 3,
  },
  LastFrameTorn: { reason: "the last frame alone", bytes: () => flip(at(7) + 100), damaged: false, unfinished: 3 },
  Middle: {
    reason: "later commits were synced, so this one was too",
    bytes: () => flip(at(2) + 100),
    damaged: true,
    unfinished: 6,
  },
  MiddleHeader: { reason: "the salts of a frame", bytes: () => flip(at(2) + 9), damaged: true, unfinished: 5 },
  First: { reason: "the first frame", bytes: () => flip(at(0) + 50), damaged: true, unfinished: 8 },
  Magic: { reason: "the header decides about everything", bytes: () => flip(0), damaged: true, unfinished: 0 },
  HeaderSum: { reason: "the checksum of the header", bytes: () => flip(25), damaged: true, unfinished: 0 },
  HeaderSalt: { reason: "the salt in the header", bytes: () => flip(17), damaged: true, unfinished: 0 },
};

for (const [name, { reason, bytes, damaged, unfinished }] of Object.entries(cases)) {
  test(`write-ahead log: ${name}`, () => {
    writeFileSync(path, bytes());
    assert.partialDeepStrictEqual(checkWal(path), { damaged, unfinishedFrames: unfinished }, reason);
  });
}

test("frames left over from an earlier round of the file are not counted", () => {
  database.exec("PRAGMA wal_checkpoint(RESTART); INSERT INTO t VALUES (zeroblob(10))");
  const reused = readFileSync(join(directory, "db-wal"));
  assert.equal(reused.length, wal.length, "the file was reused");
  writeFileSync(path, reused);
  assert.partialDeepStrictEqual(checkWal(path), { damaged: false, unfinishedFrames: 0 });
  writeFileSync(path, reused.subarray(0, at(4) + 99));
  assert.partialDeepStrictEqual(checkWal(path), { damaged: false, unfinishedFrames: 0 }, "cut among them");
  writeFileSync(path, reused.subarray(0, at(1) + 99));
  assert.partialDeepStrictEqual(checkWal(path), { damaged: false, unfinishedFrames: 0 }, "cut in the first of them");
});

test("a log that is not there is fine", () => {
  assert.partialDeepStrictEqual(checkWal(join(directory, "none")), { damaged: false, unfinishedFrames: 0 });
});
