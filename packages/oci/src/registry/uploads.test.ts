// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { openUploads } from "./uploads.ts";

const bytes = (text: string): Readable => Readable.from([Buffer.from(text)]);

test("an upload grows piece by piece, and only at its end", async () => {
  using folder = tempFolder();
  const uploads = await openUploads(join(folder.path, "u"), { maxBytes: 100 });
  const id = await uploads.start();
  assert.equal(await uploads.sizeOf(id), 0);
  assert.equal(await uploads.append(id, bytes("hello ")), 6);
  assert.equal(await uploads.append(id, bytes("world"), 6), 11);
  await assert.rejects(uploads.append(id, bytes("!"), 5), {
    code: "BLOB_UPLOAD_INVALID",
    message: "the upload continues at 11, not at 5",
  });
  assert.equal(await readFile(uploads.pathOf(id), "utf8"), "hello world");
});

test("bytes received before a lost connection are kept for the next chunk", async () => {
  using folder = tempFolder();
  const uploads = await openUploads(join(folder.path, "u"), { maxBytes: 100 });
  const id = await uploads.start();
  async function* breaking(): AsyncGenerator<Buffer> {
    yield Buffer.from("hel");
    throw new Error("aborted");
  }
  await assert.rejects(uploads.append(id, Readable.from(breaking())), /aborted/);
  assert.equal(await uploads.append(id, bytes("lo"), 3), 5);
});

test("no blob is larger than allowed, however many pieces it comes in", async () => {
  using folder = tempFolder();
  const uploads = await openUploads(join(folder.path, "u"), { maxBytes: 10 });
  const id = await uploads.start();
  await uploads.append(id, bytes("12345678"));
  await assert.rejects(uploads.append(id, bytes("9ab")), {
    code: "SIZE_INVALID",
    message: "a blob may have 10 bytes at most",
  });
  assert.equal(await uploads.sizeOf(id), 8);
});

test("an upload that is cancelled, and one that never was, are unknown", async () => {
  using folder = tempFolder();
  const uploads = await openUploads(join(folder.path, "u"), { maxBytes: 10 });
  const id = await uploads.start();
  await uploads.cancel(id);
  const { sizeOf, cancel, append } = uploads;
  for (const act of [() => sizeOf(id), () => cancel(id), () => append(id, bytes("x"))]) {
    await assert.rejects(act(), { code: "BLOB_UPLOAD_UNKNOWN" });
  }
});

test("abandoned uploads, also those of an earlier process, are removed after a while", async () => {
  using folder = tempFolder();
  const directory = join(folder.path, "u");
  let now = Date.now();
  const uploads = await openUploads(directory, { maxBytes: 10, idleMs: 1000, now: () => now });
  const [old, busy] = [await uploads.start(), await uploads.start()];
  await utimes(uploads.pathOf(old), new Date(now - 2000), new Date(now - 2000));
  const fresh = await uploads.start();
  assert.deepEqual((await readdir(directory)).toSorted(), [busy, fresh].toSorted());
  now += 10_000;
  const last = await uploads.start();
  assert.deepEqual(await readdir(directory), [last]);
  await writeFile(join(directory, "left"), "x");
  await openUploads(directory, { maxBytes: 10 });
  assert.deepEqual(await readdir(directory), []);
});
