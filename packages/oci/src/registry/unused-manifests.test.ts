// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { openContentStore } from "../content/content-store.ts";
import { digestOf, hexOf, mediaTypes } from "../content/manifest.ts";
import { allManifests, type ManifestPlaces, removeUnusedManifests } from "./registry.ts";
import { openRepositoryIndex, type RepositoryIndex } from "./registry-storage.ts";

const longAgo = new Date(Date.now() - 30 * 24 * 3_600_000);
const sinceMs = Date.now() - 7 * 24 * 3_600_000;

interface Scene extends ManifestPlaces, Disposable {
  /** Puts an image, or an index of others, into a repository, long ago. */
  push(repository: string, note: string, parts?: readonly string[]): Promise<string>;
  age(repository: string, digest: string): Promise<void>;
  /** What is left once what is unused is removed. */
  left(keep?: readonly string[]): Promise<string[]>;
}

async function scene(): Promise<Scene> {
  const folder = tempFolder();
  const store = await openContentStore(join(folder.path, "store"));
  const index = openRepositoryIndex(join(folder.path, "r"));
  const age: Scene["age"] = (repository, digest) =>
    utimes(join(folder.path, "r", repository, "_manifests", hexOf(digest)), longAgo, longAgo);
  return {
    index,
    store,
    age,
    async push(repository, note, parts) {
      const part = { mediaType: mediaTypes.ociLayerGzip, digest: digestOf(note), size: 1 };
      const manifests = parts?.map((digest) => ({ mediaType: mediaTypes.ociManifest, digest, size: 1 }));
      const mediaType = manifests === undefined ? mediaTypes.ociManifest : mediaTypes.ociIndex;
      const content = manifests === undefined ? { config: part, layers: [part] } : { manifests, annotations: { note } };
      const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, ...content }));
      const digest = digestOf(bytes);
      await store.ingest({ digest, size: bytes.length }, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
      await index.put(repository, digest, mediaType);
      await age(repository, digest);
      return digest;
    },
    async left(keep = []) {
      await removeUnusedManifests({ index, store }, { keep, sinceMs });
      return (await allManifests(index)).toSorted();
    },
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const rows: Record<string, { why: string; act: (on: Scene, digest: string) => Promise<unknown>; stays: boolean }> = {
  Untagged: { why: "nothing leads to it", act: async () => {}, stays: false },
  Tagged: { why: "a tag names it", act: ({ index }, digest) => index.setTag("f", "v1", digest), stays: true },
  Moved: {
    why: "its tag moved away today",
    act: async ({ index, push }, digest) => {
      await index.setTag("f", "v1", digest);
      const next = await push("f", "next");
      await index.setTag("f", "v1", next);
      await index.remove("f", { digest: next });
    },
    stays: true,
  },
  Removed: {
    why: "its tag was removed today",
    act: async ({ index }, digest) => {
      await index.setTag("f", "v1", digest);
      await index.remove("f", { tag: "v1" });
    },
    stays: true,
  },
  MovedLongAgo: {
    why: "its tag moved away long ago",
    act: async ({ index, age }, digest) => {
      await index.setTag("f", "v1", digest);
      await index.remove("f", { tag: "v1" });
      await age("f", digest);
    },
    stays: false,
  },
  Retagged: {
    why: "the same tag was pushed again",
    act: async ({ index }, digest) => {
      for (let time = 0; time < 2; time++) await index.setTag("f", "v1", digest);
    },
    stays: true,
  },
  Pulled: { why: "a client named it by its digest", act: ({ index }, digest) => index.use("f", digest), stays: true },
  Pushed: {
    why: "it was pushed again",
    act: ({ index }, digest) => index.put("f", digest, mediaTypes.ociManifest),
    stays: true,
  },
};
for (const [name, { why, act, stays }] of Object.entries(rows)) {
  test(`${name}: a manifest ${stays ? "stays" : "goes"}: ${why}`, async () => {
    using on = await scene();
    const digest = await on.push("f", "one");
    await act(on, digest);
    assert.deepEqual(await on.left(), stays ? [digest] : []);
  });
}

test("everything that a kept manifest references stays, through nested indexes", async () => {
  using on = await scene();
  const [one, two, three] = [await on.push("f", "1"), await on.push("f", "2"), await on.push("g", "3")];
  const inner = await on.push("f", "inner", [one]);
  const tagged = await on.push("f", "tagged", [inner]);
  await on.index.setTag("f", "v1", tagged);
  const fresh = await on.push("f", "fresh", [two]);
  await on.index.use("f", fresh);
  const all = [one, two, three, inner, tagged, fresh].toSorted();
  assert.deepEqual(await on.left([three, digestOf("elsewhere")]), all);
  await on.age("f", fresh);
  assert.deepEqual(await on.left(), [one, inner, tagged].toSorted());
  await on.index.remove("f", { tag: "v1" });
  await on.age("f", tagged);
  assert.deepEqual(await on.left([inner]), [one, inner].toSorted(), "an index goes without its parts");
});

test("a blob pushed during a collection, after the scan, stays", async () => {
  using on = await scene();
  const digest = await on.push("f", "one");
  const removeUnused: RepositoryIndex["removeUnused"] = async (...which) => {
    const pushed = on.index.put("f", digest, mediaTypes.ociManifest);
    const removed = on.index.removeUnused(...which);
    await Promise.all([pushed, removed]);
  };
  await removeUnusedManifests({ ...on, index: { ...on.index, removeUnused } }, { keep: [], sinceMs });
  assert.deepEqual(await allManifests(on.index), [digest]);
});

test("pushes and collections at the same time lose no image that was pushed", async () => {
  using on = await scene();
  const digest = await on.push("f", "one");
  for (let time = 0; time < 50; time++) {
    await on.age("f", digest);
    const push = async (): Promise<void> => {
      await on.index.put("f", digest, mediaTypes.ociManifest);
      await on.index.setTag("f", "v1", digest);
    };
    await Promise.all([push(), removeUnusedManifests(on, { keep: [], sinceMs })]);
    assert.deepEqual(await allManifests(on.index), [digest], `push ${time}`);
    await on.index.remove("f", { tag: "v1" });
  }
});
