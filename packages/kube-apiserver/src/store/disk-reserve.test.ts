// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../../test/store/temp-store.ts";
import { DiskReserve, reserveFile } from "./disk-reserve.ts";

const reserveBytes = 4 * 1024 * 1024;

test("the reserve takes 4 MiB, private, once", () => {
  const path = join(tempDirectory(), reserveFile);
  const reserve = new DiskReserve(path);
  assert.equal(reserve.hold(), true);
  const { size, mode, mtimeMs } = statSync(path);
  assert.deepEqual([size, mode & 0o777], [reserveBytes, 0o600]);
  assert.equal(reserve.hold(), true);
  assert.equal(statSync(path).mtimeMs, mtimeMs, "the file is not written again");
});

test("a reserve that is too small is filled", () => {
  const path = join(tempDirectory(), reserveFile);
  writeFileSync(path, "x");
  assert.equal(new DiskReserve(path).hold(), true);
  assert.equal(statSync(path).size, reserveBytes);
});

test("the room is given back and taken again", () => {
  const path = join(tempDirectory(), reserveFile);
  const reserve = new DiskReserve(path);
  reserve.hold();
  assert.equal(reserve.isReleased, false);
  const { release } = reserve;
  release();
  assert.equal(reserve.isReleased, true);
  assert.ok(!existsSync(path));
  release();
  reserve.hold();
  assert.equal(reserve.isReleased, false);
});

test("a directory that is gone holds no reserve and is not low", () => {
  const directory = tempDirectory();
  const reserve = new DiskReserve(join(directory, reserveFile));
  rmSync(directory, { recursive: true });
  assert.equal(reserve.hold(), false);
  assert.equal(reserve.isLowAfter([{ bytes: new Uint8Array(1024 * 1024) }]), false);
});

test("a disk with much room is not low after a commit", () => {
  const reserve = new DiskReserve(join(tempDirectory(), reserveFile));
  for (let commit = 0; commit < 3; commit++)
    assert.equal(reserve.isLowAfter([{ bytes: new Uint8Array(300_000) }]), false);
  reserve.checkpointed();
  assert.equal(reserve.isLowAfter([]), false);
});

test("more was committed than the disk has room for: it is low when it is looked at, until a checkpoint", () => {
  const reserve = new DiskReserve(join(tempDirectory(), reserveFile));
  const huge = { length: Number.MAX_SAFE_INTEGER / 4 } as Uint8Array;
  assert.equal(reserve.isLowAfter([{ bytes: huge }]), true);
  assert.equal(reserve.isLowAfter([{ bytes: new Uint8Array(10) }]), false, "not looked at");
  assert.equal(reserve.isLowAfter([{ bytes: new Uint8Array(300_000) }]), true);
  reserve.checkpointed();
  assert.equal(reserve.isLowAfter([{ bytes: new Uint8Array(300_000) }]), false);
});
