// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { createWriteStream } from "node:fs";
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { zstdCompressSync } from "node:zlib";
import { createRegistryClient } from "../client/registry-client.ts";
import { type ContentStore, openContentStore } from "../content/content-store.ts";
import { parseReference } from "../content/image-reference.ts";
import { digestOf } from "../content/manifest.ts";
import { folderEntries } from "../image/layer-archive.ts";
import { unpackLayer } from "../image/unpack-layer.ts";
import { startRegistry } from "../registry/registry.ts";
import {
  type BuiltImage,
  buildImage,
  isComplete,
  type PackageImageParts,
  pullImage,
  pushPackage,
} from "./package-image.ts";
import { packageLayers, readPackageText } from "./read-package.ts";
import { readArchive, writeArchive } from "./xpkg-archive.ts";

const linux = { os: "linux", architecture: "amd64" };
const process = { entrypoint: ["/bin/function"], cmd: [], env: ["A=b"], workingDir: "/", user: "2000" };
const packageYaml = "---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-x}\n---\n";
const parts: PackageImageParts = { platform: linux, process, base: [], layers: [], packageYaml };

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "purlin-xpkg-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function storeOf(t: TestContext): Promise<ContentStore> {
  return openContentStore(await folder(t));
}

async function sampleRoot(t: TestContext): Promise<string> {
  const root = await folder(t);
  await mkdir(join(root, "bin"));
  await writeFile(join(root, "bin", "function"), "#!/bin/sh\n");
  await chmod(join(root, "bin", "function"), 0o711);
  await writeFile(join(root, "empty"), "");
  await writeFile(join(root, "large"), Buffer.alloc(300_000, "purlin"));
  await symlink("bin/function", join(root, "start"));
  for (const path of ["bin", "bin/function", "empty", "large"]) await utimes(join(root, path), 1000, 1000);
  return root;
}

test("the same parts give the same digest, wherever and whenever", async (t) => {
  const build = async (): Promise<BuiltImage> => {
    const store = await storeOf(t);
    return buildImage(store, { ...parts, layers: [folderEntries(await sampleRoot(t))], examplesYaml: "a: b\n" });
  };
  const [one, two] = [await build(), await build()];
  // Links cannot be dated everywhere; they are the only thing here that differs in time.
  assert.deepEqual(one.manifest.layers.slice(1), two.manifest.layers.slice(1));
  const store = await storeOf(t);
  const root = await sampleRoot(t);
  const again = async (): Promise<BuiltImage> => buildImage(store, { ...parts, layers: [folderEntries(root)] });
  assert.equal((await again()).descriptor.digest, (await again()).descriptor.digest);
});

test("a root comes out of the image as it went in", async (t) => {
  const store = await storeOf(t);
  const { manifest } = await buildImage(store, { ...parts, layers: [folderEntries(await sampleRoot(t))] });
  const out = await folder(t);
  for (const layer of manifest.layers) {
    const source = { mediaType: layer.mediaType, open: () => store.open(layer.digest), name: layer.digest };
    await unpackLayer(source, out, { bytes: 10_000_000, entries: 100 });
  }
  assert.equal(await readFile(join(out, "start"), "utf8"), "#!/bin/sh\n");
  assert.equal((await readFile(join(out, "large"))).length, 300_000);
  assert.equal((await readFile(join(out, "empty"))).length, 0);
  assert.equal(await readFile(join(out, "package.yaml"), "utf8"), packageYaml);
});

test("an image survives being a file", async (t) => {
  const store = await storeOf(t);
  const built = await buildImage(store, {
    ...parts,
    layers: [folderEntries(await sampleRoot(t))],
    examplesYaml: "x: y\n",
  });
  const path = join(await folder(t), "function-x.xpkg");
  await writeArchive(store, built, createWriteStream(path));
  const other = await storeOf(t);
  const read = await readArchive(other, path, "function-x.xpkg");
  assert.equal(read.descriptor.digest, built.descriptor.digest);
  assert.equal(await readPackageText(read.manifest, other, "x"), packageYaml);
});

test("a base keeps its compression in a file, and a file that cannot be written is an error at once", async (t) => {
  const store = await storeOf(t);
  const tar = Buffer.alloc(1024);
  const layers = { "tar+zstd": zstdCompressSync(tar), tar } as const;
  const base: PackageImageParts["base"][number][] = [];
  for (const [type, bytes] of Object.entries(layers)) {
    const mediaType = `application/vnd.oci.image.layer.v1.${type}`;
    const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.length };
    await store.ingest(descriptor, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
    base.push({ descriptor, diffId: digestOf(tar) });
  }
  const built = await buildImage(store, { ...parts, base });
  const path = join(await folder(t), "x.xpkg");
  await writeArchive(store, built, createWriteStream(path));
  const read = await readArchive(await storeOf(t), path, "x.xpkg");
  assert.deepEqual(read.manifest, built.manifest);
  await assert.rejects(writeArchive(store, built, createWriteStream(join(path, "below"))), { code: "ENOTDIR" });
});

test("files that are not packages are rejected", async (t) => {
  const store = await storeOf(t);
  const path = join(await folder(t), "x");
  await writeFile(path, "hello");
  await assert.rejects(readArchive(store, path, "x.xpkg"), /x\.xpkg is not a package file/);
  await writeFile(path, Buffer.alloc(1024));
  await assert.rejects(
    readArchive(store, path, "x.xpkg"),
    /it has no manifest\.json; build one with "purlin xpkg build"/,
  );
});

test("a pushed package is pulled, whole or only what is needed to read it", async (t) => {
  const registry = await startRegistry({ directory: await folder(t) });
  t.after(() => registry.close());
  const store = await storeOf(t);
  const built = await buildImage(store, { ...parts, layers: [folderEntries(await sampleRoot(t))] });
  const client = createRegistryClient();
  const reference = parseReference(`${registry.address}/acme/function-x:v1`);
  const digest = await pushPackage(client, store, { images: [built], to: reference });
  assert.equal(digest, built.descriptor.digest);

  const local = await storeOf(t);
  const light = { platform: linux, layers: packageLayers };
  const pulled = await pullImage(client, local, { reference, options: light });
  assert.equal(await readPackageText(pulled.manifest, local, "x"), packageYaml);
  assert.equal(await isComplete(local, digest, linux), false, "the root was not needed");
  await pullImage(client, local, { reference, options: { platform: linux } });
  assert.equal(await isComplete(local, digest, linux), true);
  await registry.close();
  const offline = { ...reference, digest };
  const again = await pullImage(client, local, { reference: offline, options: { platform: linux } });
  assert.equal(again.digest, digest, "what is complete needs no registry");
});

test("several platforms become an index, and each finds its own", async (t) => {
  const registry = await startRegistry({ directory: await folder(t) });
  t.after(() => registry.close());
  const store = await storeOf(t);
  const arm = { os: "linux", architecture: "arm64" };
  const images = [await buildImage(store, parts), await buildImage(store, { ...parts, platform: arm })];
  const client = createRegistryClient();
  const reference = parseReference(`${registry.address}/acme/function-x:v1`);
  const digest = await pushPackage(client, store, { images, to: reference });
  const local = await storeOf(t);
  for (const [at, platform] of [linux, arm].entries()) {
    const pulled = await pullImage(client, local, { reference, options: { platform } });
    assert.deepEqual([pulled.digest, pulled.manifestDigest], [digest, images[at]?.descriptor.digest]);
  }
  const mips = { platform: { os: "linux", architecture: "mips" } };
  await assert.rejects(
    pullImage(client, local, { reference, options: mips }),
    /has no image for linux\/mips, only for linux\/amd64, linux\/arm64/,
  );
});

test("without an annotation, package.yaml comes from the uppermost layer that has one", async (t) => {
  const store = await storeOf(t);
  const { manifest } = await buildImage(store, { ...parts, layers: [folderEntries(await sampleRoot(t))] });
  const bare = { ...manifest, layers: manifest.layers.map(({ annotations: _, ...layer }) => layer) };
  assert.equal(await readPackageText(bare, store, "x"), packageYaml);
  const without = { ...manifest, layers: bare.layers.slice(0, 1) };
  await assert.rejects(
    readPackageText(without, store, "acme/x:v1"),
    /acme\/x:v1 is not a package: it has no package\.yaml/,
  );
});
