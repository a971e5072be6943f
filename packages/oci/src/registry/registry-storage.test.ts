// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readdir, readFile, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { openContentStore } from "../content/content-store.ts";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { reachableFrom } from "./registry.ts";
import { openRepositoryIndex, openUploads } from "./registry-storage.ts";

const [one, two] = [digestOf("one"), digestOf("two")];

test("a repository lists its manifests and what its tags point to, also after a restart", async () => {
  using folder = tempFolder();
  const index = openRepositoryIndex(join(folder.path, "r"));
  await index.put("acme/f", one, mediaTypes.ociManifest);
  await index.put("acme/f", two, mediaTypes.ociIndex);
  await index.put("acme", one, mediaTypes.ociManifest);
  await index.setTag("acme/f", "v1", one);
  await index.setTag("acme/f", "latest", one);
  await index.setTag("acme/f", "latest", two);
  const again = openRepositoryIndex(join(folder.path, "r"));
  assert.deepEqual(await again.repositories(), ["acme", "acme/f"]);
  assert.deepEqual(await again.tags("acme/f"), ["latest", "v1"]);
  assert.deepEqual(await again.tags("acme"), []);
  assert.equal(await again.tags("none"), undefined);
  assert.deepEqual([await again.tag("acme/f", "latest"), await again.tag("acme/f", "v1")], [two, one]);
  assert.equal(await again.tag("acme/f", "v2"), undefined);
  assert.equal(await again.mediaType("acme/f", two), mediaTypes.ociIndex);
  assert.equal(await again.mediaType("acme", two), undefined, "what is in one repository is not in another");
  assert.deepEqual((await again.manifests("acme/f")).toSorted(), [one, two].toSorted());
  assert.deepEqual(await again.manifests("acme"), [one]);
  assert.deepEqual(await again.manifests("none"), []);
});

test("removing a manifest removes its own tags only", async () => {
  using folder = tempFolder();
  const index = openRepositoryIndex(join(folder.path, "r"));
  for (const digest of [one, two]) await index.put("f", digest, mediaTypes.ociManifest);
  for (const [tag, digest] of Object.entries({ a: one, b: one, c: two })) await index.setTag("f", tag, digest);
  assert.equal(await index.remove("f", { tag: "b" }), true);
  assert.equal(await index.remove("f", { tag: "b" }), false);
  assert.deepEqual(await index.tags("f"), ["a", "c"]);
  assert.equal(await index.remove("f", { digest: one }), true);
  assert.equal(await index.remove("f", { digest: one }), false);
  assert.deepEqual(await index.tags("f"), ["c"]);
  assert.equal(await index.remove("none", { digest: one }), false);
});

test("an interrupted write is not visible, and each write is atomic", async () => {
  using folder = tempFolder();
  const index = openRepositoryIndex(join(folder.path, "r"));
  await index.put("f", one, mediaTypes.ociManifest);
  await Promise.all(Array.from({ length: 20 }, (_, at) => index.setTag("f", "v1", at % 2 === 0 ? one : two)));
  assert.ok([one, two].includes((await index.tag("f", "v1")) ?? ""));
  await writeFile(join(folder.path, "r", "f", "_tags", ".half"), "sha256:");
  assert.deepEqual(await index.tags("f"), ["v1"]);
  assert.deepEqual(
    (await readdir(join(folder.path, "r", "f", "_tags"))).toSorted(),
    [".half", "v1"],
    "no drafts are left",
  );
});

test("reachableFrom follows manifests and indexes and ignores missing blobs", async () => {
  using folder = tempFolder();
  const store = await openContentStore(folder.path);
  const add = async (document: object): Promise<string> => {
    const bytes = Buffer.from(JSON.stringify(document));
    const digest = digestOf(bytes);
    await store.ingest({ digest, size: bytes.length }, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
    return digest;
  };
  const part = (text: string): object => ({ mediaType: mediaTypes.ociLayerGzip, digest: digestOf(text), size: 1 });
  const image = await add({
    schemaVersion: 2,
    mediaType: mediaTypes.ociManifest,
    config: part("c"),
    layers: [part("l")],
  });
  const lost = digestOf("lost");
  const manifests = [image, lost].map((digest) => ({ mediaType: mediaTypes.ociManifest, digest, size: 1 }));
  const index = await add({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests });
  const expected = [index, image, lost, digestOf("c"), digestOf("l")];
  assert.deepEqual([...(await reachableFrom(store, [index, image]))].toSorted(), expected.toSorted());
  assert.deepEqual(await reachableFrom(store, []), new Set());
  const other = await add({ a: "document of another kind" });
  assert.deepEqual(await reachableFrom(store, [other]), new Set([other]), "it is kept, and needs nothing");
});

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
