// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createWriteStream } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Writable } from "node:stream";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { extract, type Header, pack } from "tar-stream";
import { type ContentStore, openContentStore } from "../content/content-store.ts";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { fileEntry } from "../image/layer-archive.ts";
import { type BuiltImage, buildImage } from "./package-image.ts";
import { isPackageError } from "./package-meta.ts";
import { readPackageText } from "./read-package.ts";
import { readArchive, writeArchive } from "./xpkg-archive.ts";

const platform = { os: "linux", architecture: "amd64" };
const process = { entrypoint: ["/function"], cmd: [], env: [], workingDir: "/", user: "2000" };
const packageYaml = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-x}\n";

async function built(folder: TempFolder, size = 10): Promise<{ store: ContentStore; image: BuiltImage }> {
  const store = await openContentStore(join(folder.path, "store"));
  const layers = [[fileEntry("function", randomBytes(size))]];
  return {
    store,
    image: await buildImage(store, { platform, process, base: [], layers, packageYaml, examplesYaml: "a: b\n" }),
  };
}

async function filesOf(path: string): Promise<Header[]> {
  const reader = extract();
  const headers: Header[] = [];
  reader.end(await readFile(path));
  for await (const entry of reader) {
    headers.push(entry.header);
    entry.resume();
  }
  return headers;
}

async function tar(files: Record<string, string | Buffer | Partial<Header>>): Promise<Buffer> {
  const made = pack();
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === "string" || Buffer.isBuffer(content)) made.entry({ name }, content);
    else made.entry({ name, ...content });
  }
  made.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of made) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

test("an archive has the layout of docker save, dated nowhere, and the same bytes each time", async () => {
  using folder = tempFolder();
  const { store, image } = await built(folder);
  const [one, two] = [join(folder.path, "one.xpkg"), join(folder.path, "two.xpkg")];
  await writeArchive(store, image, createWriteStream(one));
  await writeArchive(store, image, createWriteStream(two));
  assert.ok((await readFile(one)).equals(await readFile(two)));
  const headers = await filesOf(one);
  const layers = image.manifest.layers.map(({ digest }) => `${digest.slice(7)}.tar.gz`);
  assert.deepEqual(
    headers.map(({ name }) => name),
    [image.manifest.config.digest, ...layers, "manifest.json"],
  );
  assert.ok(headers.every(({ mtime, mode, uid }) => mtime?.getTime() === 0 && mode === 0o644 && uid === 0));
});

test("annotations of layers come back, and so do layers of every size", async () => {
  using folder = tempFolder();
  const { store, image } = await built(folder, 6_000_000);
  const path = join(folder.path, "x.xpkg");
  await writeArchive(store, image, createWriteStream(path));
  const other = await openContentStore(join(folder.path, "other"));
  const read = await readArchive(other, path, "x.xpkg");
  assert.deepEqual([read.manifest, read.descriptor.digest], [image.manifest, image.descriptor.digest]);
  assert.equal(await readPackageText(read.manifest, other, "x"), packageYaml);
  for (const { digest } of [read.descriptor, read.manifest.config, ...read.manifest.layers])
    assert.ok(await other.has(digest));
});

test("a layer that comes twice is kept once", async () => {
  using folder = tempFolder();
  const { store, image } = await built(folder);
  const [first] = image.manifest.layers;
  assert.ok(first);
  const twice = { ...image.manifest, layers: [first, ...image.manifest.layers] };
  const path = join(folder.path, "x.xpkg");
  await writeArchive(store, { manifest: twice }, createWriteStream(path));
  assert.equal((await filesOf(path)).length, 1 + image.manifest.layers.length + 1);
  assert.equal((await readArchive(store, path, "x")).manifest.layers.length, twice.layers.length);
});

test("a layer that is missing from the store fails the archive", async () => {
  using folder = tempFolder();
  const { store, image } = await built(folder);
  const [layer] = image.manifest.layers;
  await rm(store.pathOf(layer?.digest ?? ""));
  const stream = createWriteStream(join(folder.path, "x.xpkg"));
  await assert.rejects(writeArchive(store, image, stream), { code: "ENOENT" });
  assert.ok(stream.destroyed);
});

test("a stream that fails in the middle of a layer ends the archive", async () => {
  using folder = tempFolder();
  const { store, image } = await built(folder, 6_000_000);
  let taken = 0;
  const full = new Writable({
    write: (chunk: Buffer, _, done) => {
      taken += chunk.length;
      done(taken > 1_000_000 ? new Error("no space left") : null);
    },
  });
  await assert.rejects(writeArchive(store, image, full), /no space left/);
});

const config = JSON.stringify({ os: "linux", architecture: "amd64" });
const table = (entry: object): string => JSON.stringify([entry]);
const good = { "config.json": config, "l.tar": gzipSync(Buffer.alloc(1024)) };
const refused: { why: string; files: Record<string, string | Buffer | Partial<Header>>; says: RegExp }[] = [
  { why: "nothing in it", files: {}, says: /it has no manifest\.json/ },
  { why: "a manifest.json that is not JSON", files: { "manifest.json": "{" }, says: /manifest\.json/ },
  { why: "a manifest.json that is not a list", files: { "manifest.json": "{}" }, says: /manifest\.json/ },
  { why: "a table of nothing", files: { "manifest.json": "[]" }, says: /manifest\.json/ },
  {
    why: "several images",
    files: {
      ...good,
      "manifest.json": JSON.stringify([
        { Config: "config.json", Layers: [] },
        { Config: "config.json", Layers: [] },
      ]),
    },
    says: /holds 2 images: save one to a file of its own/,
  },
  {
    why: "no configuration",
    files: { "manifest.json": table({ Config: "config.json", Layers: [] }) },
    says: /config\.json is missing/,
  },
  {
    why: "a configuration elsewhere",
    files: { "manifest.json": table({ Config: "../../etc/passwd", Layers: [] }) },
    says: /passwd is missing/,
  },
  {
    why: "an invalid configuration",
    files: { "config.json": "{", "manifest.json": table({ Config: "config.json", Layers: [] }) },
    says: /the configuration is not JSON/,
  },
  {
    why: "a missing layer",
    files: { ...good, "manifest.json": table({ Config: "config.json", Layers: ["gone.tar"] }) },
    says: /the layer gone\.tar is missing/,
  },
  {
    why: "a layer that is a link",
    files: {
      ...good,
      "evil.tar": { type: "symlink", linkname: "/etc/passwd" },
      "manifest.json": table({ Config: "config.json", Layers: ["evil.tar"] }),
    },
    says: /the layer evil\.tar is missing/,
  },
];
for (const { why, files, says } of refused) {
  test(`no package file: ${why}`, async () => {
    using folder = tempFolder();
    const store = await openContentStore(join(folder.path, "store"));
    const path = join(folder.path, "x");
    await writeFile(path, await tar(files));
    await assert.rejects(
      readArchive(store, path, "x.xpkg"),
      (error: Error) => says.test(error.message) && error.message.startsWith("x.xpkg"),
    );
  });
}

test("files that are not archives, truncated or unreadable fail with a reason and advice", async () => {
  using folder = tempFolder();
  const { store, image } = await built(folder, 100_000);
  const path = join(folder.path, "x.xpkg");
  await writeArchive(store, image, createWriteStream(path));
  const bytes = await readFile(path);
  const advice = '; build one with "purlin xpkg build"';
  const early = `is not a package file: unexpected end of file; copy it again, or ${advice.slice(2)}`;
  const rows: readonly { readonly why: string; readonly content: Buffer; readonly says: string }[] = [
    { why: "nothing", content: Buffer.alloc(0), says: `is not a package file: it has no manifest.json${advice}` },
    { why: "text", content: Buffer.from("hello"), says: early },
    {
      why: "half of one",
      content: bytes.subarray(0, bytes.length / 2),
      says: early,
    },
    { why: "no tar", content: Buffer.alloc(2048, 7), says: `is not a package file: it is not a tar archive${advice}` },
    { why: "compressed", content: gzipSync(bytes), says: `is not a package file: it is not a tar archive${advice}` },
  ];
  for (const { why, content, says } of rows) {
    await writeFile(path, content);
    await assert.rejects(
      readArchive(store, path, "x.xpkg"),
      (error: Error) => isPackageError(error) && error.message === `x.xpkg ${says}`,
      why,
    );
  }
  await assert.rejects(readArchive(store, folder.path, "dir"), {
    message: `cannot read dir: it is a folder: specify a file in it${advice}`,
  });
  await assert.rejects(readArchive(store, join(folder.path, "none"), "none.xpkg"), {
    message: /^cannot read none\.xpkg: ENOENT/,
  });
});

test("reading stops at the limit of files", async () => {
  using folder = tempFolder();
  const store = await openContentStore(join(folder.path, "store"));
  const path = join(folder.path, "x.xpkg");
  await writeFile(path, await tar(Object.fromEntries(Array.from({ length: 4097 }, (_, at) => [String(at), ""]))));
  await assert.rejects(readArchive(store, path, "x.xpkg"), {
    message: 'x.xpkg is not a package file: it has more than 4096 files; build one with "purlin xpkg build"',
  });
});

test("an archive of another tool, without compression or marks, is read", async () => {
  using folder = tempFolder();
  const store = await openContentStore(join(folder.path, "store"));
  const layer = await tar({ "package.yaml": packageYaml });
  const files = {
    "abc.json": config,
    "abc/layer.tar": layer,
    "manifest.json": table({ Config: "abc.json", RepoTags: ["f:v1"], Layers: ["abc/layer.tar"] }),
  };
  const path = join(folder.path, "x.tar");
  await writeFile(path, await tar(files));
  const { manifest } = await readArchive(store, path, "x.tar");
  assert.deepEqual(manifest.layers, [{ mediaType: mediaTypes.ociLayer, digest: digestOf(layer), size: layer.length }]);
  assert.equal(await readPackageText(manifest, store, "x"), packageYaml);
});
