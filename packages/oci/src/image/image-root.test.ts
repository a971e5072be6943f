// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { openContentStore } from "../content/content-store.ts";
import { type BuiltImage, buildImage } from "../xpkg/package-image.ts";
import { type ImageRoots, openImageRoots, type RootCollection } from "./image-root.ts";
import { fileEntry } from "./layer-archive.ts";

interface Scene extends Disposable {
  readonly directory: string;
  readonly roots: ImageRoots;
  build(text: string): Promise<BuiltImage>;
  /** Another process comes to the same folder. */
  reopen(): ImageRoots;
}

async function scene(): Promise<Scene> {
  const folder = tempFolder();
  const store = await openContentStore(join(folder.path, "images"));
  const directory = join(folder.path, "roots");
  const reopen = (): ImageRoots => openImageRoots(directory, store, { mounts: ["tmp"] });
  return {
    directory,
    roots: reopen(),
    reopen,
    build: (text) =>
      buildImage(store, {
        platform: { os: "linux", architecture: "amd64" },
        process: { entrypoint: ["/fn"], cmd: [], env: [], workingDir: "/", user: "" },
        base: [],
        layers: [[fileEntry("fn", text, 0o755)]],
        packageYaml: "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: fn}\n",
        labels: {},
      }),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
}

const nothing: RootCollection = { keep: new Set(), used: new Set(), minAgeMs: 0 };

function imageOf({ manifest, descriptor }: BuiltImage): Parameters<ImageRoots["rootOf"]>[0] {
  return { manifest, manifestDigest: descriptor.digest };
}

test("an image is unpacked once, also for several callers at the same time", async () => {
  using on = await scene();
  const image = imageOf(await on.build("one"));
  const paths = await Promise.all([1, 2, 3].map(() => on.roots.rootOf(image)));
  assert.equal(new Set(paths).size, 1);
  assert.equal(readFileSync(join(paths[0] ?? "", "fn"), "utf8"), "one");
  assert.ok(existsSync(join(paths[0] ?? "", "tmp")));
  assert.deepEqual(readdirSync(on.directory), [basename(paths[0] ?? "")]);
});

test("kept, used and recently requested roots stay; all others are removed", async () => {
  using on = await scene();
  const images = await Promise.all(["kept", "used", "gone"].map(on.build));
  const [kept, used, gone] = (await Promise.all(images.map((image) => on.roots.rootOf(imageOf(image))))) as [
    string,
    string,
    string,
  ];
  const collection = { keep: new Set([images[0]?.descriptor.digest ?? ""]), used: new Set([used]), minAgeMs: 60_000 };
  await on.roots.collect(collection);
  assert.deepEqual([kept, used, gone].map(existsSync), [true, true, true], "it was requested just now");
  await on.roots.collect({ ...collection, minAgeMs: 0 });
  assert.deepEqual([kept, used, gone].map(existsSync), [true, true, false]);
});

test("leftovers of a killed process are removed; an image root is complete or absent", async () => {
  using on = await scene();
  const root = await on.roots.rootOf(imageOf(await on.build("one")));
  mkdirSync(join(on.directory, "unpacking-x7k2p/etc"), { recursive: true });
  const next = on.reopen();
  await next.collect({ ...nothing, used: new Set([root]) });
  assert.deepEqual(readdirSync(on.directory), [basename(root)]);
});

test("an image that was half removed once can be unpacked, and removed, again", async () => {
  using on = await scene();
  // Several, as it matters which folder is seen first.
  const images = await Promise.all(["a", "b", "c", "d", "e", "f"].map(on.build));
  const paths = await Promise.all(images.map((image) => on.roots.rootOf(imageOf(image))));
  for (const path of paths) mkdirSync(join(on.directory, `unpacking-${basename(path)}/etc`), { recursive: true });
  await on.roots.collect(nothing);
  assert.deepEqual(readdirSync(on.directory), []);
});

test("an image that is being unpacked is not collected, and one that is being collected is unpacked again", async () => {
  using on = await scene();
  const image = imageOf(await on.build("one"));
  const unpacking = on.roots.rootOf(image);
  await on.roots.collect(nothing);
  const root = await unpacking;
  assert.equal(readFileSync(join(root, "fn"), "utf8"), "one");
  for (let round = 0; round < 20; round++) {
    const collected = on.roots.collect(nothing);
    const again = await on.roots.rootOf(image);
    assert.equal(readFileSync(join(again, "fn"), "utf8"), "one");
    await collected;
  }
});
