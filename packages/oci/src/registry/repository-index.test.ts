// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { openContentStore } from "../content/content-store.ts";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { reachableFrom } from "./registry.ts";
import { openRepositoryIndex } from "./repository-index.ts";

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
