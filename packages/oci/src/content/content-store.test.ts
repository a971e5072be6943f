// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { type BlobSource, type ContentStore, openContentStore } from "./content-store.ts";
import { digestOf } from "./manifest.ts";

async function storeIn(t: TestContext): Promise<{ store: ContentStore; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-store-"));
  t.after(() => rm(directory, { recursive: true, force: true }));
  return { store: await openContentStore(directory), directory };
}

const named = (bytes: Uint8Array): { digest: string; size: number } => ({
  digest: digestOf(bytes),
  size: bytes.length,
});

/** Sends up to `until`, then breaks; notes where it was asked to begin. */
function breaking(bytes: Buffer, until: number, asked: number[]): BlobSource {
  return async (offset) => {
    asked.push(offset);
    async function* send(): AsyncGenerator<Buffer> {
      yield bytes.subarray(offset, until);
      if (until < bytes.length) throw new Error("the line broke");
    }
    return { bytes: Readable.from(send()), offset };
  };
}

test("an interrupted blob is continued where it broke off", async (t) => {
  const { store } = await storeIn(t);
  const bytes = randomBytes(1000);
  const asked: number[] = [];
  await assert.rejects(store.ingest(named(bytes), breaking(bytes, 300, asked)), /the line broke/);
  assert.equal(await store.has(digestOf(bytes)), false);
  await assert.rejects(store.ingest(named(bytes), breaking(bytes, 700, asked)), /the line broke/);
  await store.ingest(named(bytes), breaking(bytes, 1000, asked));
  assert.deepEqual(asked, [0, 300, 700]);
  assert.deepEqual(await store.read(named(bytes)), bytes);
});

test("a source that cannot continue starts again", async (t) => {
  const { store } = await storeIn(t);
  const bytes = randomBytes(1000);
  await assert.rejects(store.ingest(named(bytes), breaking(bytes, 300, [])));
  await store.ingest(named(bytes), async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
  assert.deepEqual(await store.read(named(bytes)), bytes);
});

test("a partial blob that was damaged is found out and thrown away", async (t) => {
  const { store, directory } = await storeIn(t);
  const bytes = randomBytes(1000);
  const { digest } = named(bytes);
  await writeFile(join(directory, "partial", digest.slice(7)), randomBytes(300));
  await assert.rejects(store.ingest(named(bytes), breaking(bytes, 1000, [])), /digest mismatch: want sha256:/);
  assert.deepEqual(await readdir(join(directory, "partial")), []);
  await store.ingest(named(bytes), breaking(bytes, 1000, []));
});

test("content that does not match its digest is not stored", async (t) => {
  const { store, directory } = await storeIn(t);
  const bytes = randomBytes(100);
  const rows: { what: string; sent: Buffer; problem: RegExp }[] = [
    { what: "other bytes", sent: randomBytes(100), problem: /digest mismatch/ },
    { what: "more", sent: Buffer.concat([bytes, Buffer.of(1)]), problem: /received more than/ },
    { what: "less", sent: bytes.subarray(0, 99), problem: /only 99 of 100 bytes/ },
  ];
  for (const { what, sent, problem } of rows) {
    const source: BlobSource = async () => ({ bytes: Readable.from([sent]), offset: 0 });
    await assert.rejects(store.ingest(named(bytes), source), problem, what);
    assert.equal(await store.has(digestOf(bytes)), false, what);
  }
  assert.deepEqual(await readdir(join(directory, "blobs", "sha256")), []);
});

test("concurrent requests for a blob fetch it once", async (t) => {
  const { store } = await storeIn(t);
  const bytes = randomBytes(100);
  const asked: number[] = [];
  await Promise.all([1, 2, 3].map(() => store.ingest(named(bytes), breaking(bytes, 100, asked))));
  await store.ingest(named(bytes), breaking(bytes, 100, asked));
  assert.deepEqual(asked, [0]);
});

test("an empty blob is a blob", async (t) => {
  const { store } = await storeIn(t);
  const empty = Buffer.alloc(0);
  await store.ingest(named(empty), async () => ({ bytes: Readable.from([]), offset: 0 }));
  assert.deepEqual(await store.read(named(empty)), empty);
});

test("names that are not digests are rejected before a file is opened", async (t) => {
  const { store } = await storeIn(t);
  assert.throws(() => store.pathOf("sha256:../../etc/passwd"), /is not a sha256 digest/);
});

test("the least recently used go first, and what is kept stays", async (t) => {
  const { store } = await storeIn(t);
  const blobs = [1, 2, 3, 4].map((seed) => Buffer.alloc(100, seed));
  for (const [age, bytes] of blobs.entries()) {
    await store.ingest(named(bytes), breaking(bytes, 100, []));
    const then = new Date(Date.now() - (4 - age) * 60_000);
    await utimes(store.pathOf(digestOf(bytes)), then, then);
  }
  const [oldest, kept, used, newest] = blobs.map((bytes) => digestOf(bytes)) as [string, string, string, string];
  assert.equal(await store.has(oldest), true, "requested just now, so no longer the oldest");
  assert.equal(await store.collect({ keep: new Set([kept]), maxBytes: 250 }), 200);
  const left = await Promise.all([oldest, kept, used, newest].map((digest) => store.has(digest)));
  assert.deepEqual(left, [true, true, false, false]);
  assert.equal(await store.collect({ keep: new Set(), maxBytes: 1000 }), 0);
});

test("recently used blobs and recent partial downloads are not collected", async (t) => {
  const { store, directory } = await storeIn(t);
  const [lately, long, half] = [1, 2, 3].map((seed) => Buffer.alloc(100, seed)) as [Buffer, Buffer, Buffer];
  const old = new Date(Date.now() - 3_600_000);
  for (const bytes of [lately, long]) {
    await store.ingest(named(bytes), breaking(bytes, 100, []));
    await utimes(store.pathOf(digestOf(bytes)), old, old);
  }
  await store.has(digestOf(lately));
  await assert.rejects(store.ingest(named(half), breaking(half, 50, [])));
  assert.equal(await store.collect({ keep: new Set(), maxBytes: 0, minAgeMs: 60_000 }), 100);
  assert.deepEqual([await store.has(digestOf(lately)), await store.has(digestOf(long))], [true, false]);
  const pieces = join(directory, "partial");
  assert.equal((await readdir(pieces)).length, 1);
  const yesterday = new Date(Date.now() - 25 * 3_600_000);
  for (const name of await readdir(pieces)) await utimes(join(pieces, name), yesterday, yesterday);
  await store.collect({ keep: new Set(), maxBytes: 1000 });
  assert.deepEqual(await readdir(pieces), []);
});

test("a blob that has() reported is readable while a collection runs", async (t) => {
  const { store } = await storeIn(t);
  const blobs = Array.from({ length: 30 }, (_, seed) => Buffer.alloc(100, seed));
  const old = new Date(Date.now() - 3_600_000);
  for (const bytes of blobs) {
    await store.ingest(named(bytes), breaking(bytes, 100, []));
    await utimes(store.pathOf(digestOf(bytes)), old, old);
  }
  const collected = store.collect({ keep: new Set(), maxBytes: 0, minAgeMs: 60_000 });
  const found = await Promise.all(blobs.map((bytes) => store.has(digestOf(bytes))));
  await collected;
  for (const [index, bytes] of blobs.entries()) {
    if (found[index]) assert.deepEqual(await store.read(named(bytes)), bytes);
    else await assert.rejects(store.read(named(bytes)));
  }
});

test("a blob that cannot be removed fails the collection only", async (t) => {
  const { store, directory } = await storeIn(t);
  const digest = digestOf(Buffer.from("a folder in its place"));
  await mkdir(join(directory, "blobs", "sha256", digest.slice(7)));
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on("unhandledRejection", note);
  t.after(() => process.off("unhandledRejection", note));
  await assert.rejects(store.collect({ keep: new Set(), maxBytes: -1 }), /EISDIR/);
  // Unhandled rejections are reported after the microtasks.
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(unhandled, []);
});
