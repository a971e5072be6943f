// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { type Header, pack } from "tar-stream";
import { type ContentStore, openContentStore } from "../content/content-store.ts";
import { type Descriptor, digestOf, type ImageManifest, mediaTypes } from "../content/manifest.ts";
import { isPackageError } from "./package-meta.ts";
import { packageLayers, readPackageText } from "./read-package.ts";

type Files = Readonly<Record<string, string | Partial<Header>>>;

/** Files by name; an object is the header of something else. */
async function tarOf(files: Files): Promise<Buffer> {
  const tar = pack();
  for (const [name, file] of Object.entries(files)) {
    if (typeof file === "string") tar.entry({ name }, file);
    else tar.entry({ name, ...file });
  }
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function add(store: ContentStore, bytes: Buffer, mediaType: string): Promise<Descriptor> {
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.length };
  await store.ingest(descriptor, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
  return descriptor;
}

const marked = { annotations: { "io.crossplane.xpkg": "base" } };

/** An image of layers, lowest first. */
async function image(store: ContentStore, layers: readonly Files[], mark?: number): Promise<ImageManifest> {
  const descriptors: Descriptor[] = [];
  for (const [at, files] of layers.entries()) {
    const descriptor = await add(store, gzipSync(await tarOf(files)), mediaTypes.ociLayerGzip);
    descriptors.push(at === mark ? { ...descriptor, ...marked } : descriptor);
  }
  const config = { mediaType: mediaTypes.ociConfig, digest: digestOf("{}"), size: 2 };
  return { mediaType: mediaTypes.ociManifest, config, layers: descriptors };
}

const rows: { why: string; layers: Files[]; mark?: number; found: string | undefined }[] = [
  {
    why: "in the flattened image, the uppermost layer counts",
    layers: [{ "package.yaml": "old" }, { "package.yaml": "new" }],
    found: "new",
  },
  { why: "in any folder", layers: [{ "a/b/package.yaml": "here" }], found: "here" },
  {
    why: "the marked layer, whatever the others hold",
    layers: [{ "package.yaml": "marked" }, { "package.yaml": "other" }],
    mark: 0,
    found: "marked",
  },
  {
    why: "not in the others when the marked one has none",
    layers: [{ "package.yaml": "x" }, { a: "b" }],
    mark: 1,
    found: undefined,
  },
  {
    why: "one that a later layer removed is gone",
    layers: [{ "package.yaml": "x" }, { ".wh.package.yaml": "" }],
    found: undefined,
  },
  {
    why: "so is one in a folder that was removed",
    layers: [{ "a/package.yaml": "x" }, { ".wh.a": "" }],
    found: undefined,
  },
  { why: "or emptied", layers: [{ "a/package.yaml": "x" }, { "a/.wh..wh..opq": "" }], found: undefined },
  {
    why: "what the same layer brings stays",
    layers: [{ "package.yaml": "old" }, { ".wh.package.yaml": "", "package.yaml": "new" }],
    found: "new",
  },
  {
    why: "and is not removed from the layer that removes it",
    layers: [{ "x/package.yaml": "y" }, { "x/.wh.other": "" }],
    found: "y",
  },
  { why: "a folder of that name", layers: [{ "package.yaml": { type: "directory" } }], found: undefined },
  {
    why: "nor is a link",
    layers: [{ "package.yaml": { type: "symlink", linkname: "/etc/passwd" } }],
    found: undefined,
  },
  { why: "the first of several", layers: [{ "a/package.yaml": "first", "package.yaml": "second" }], found: "first" },
  { why: "no layers", layers: [], found: undefined },
];
for (const { why, layers, mark, found } of rows) {
  test(`package.yaml: ${why}`, async () => {
    using folder = tempFolder();
    const store = await openContentStore(folder.path);
    const reading = image(store, layers, mark).then((made) => readPackageText(made, store, "acme/f:v1"));
    if (found !== undefined) return assert.equal(await reading, found);
    await assert.rejects(
      reading,
      (error: Error) => isPackageError(error) && error.message === "acme/f:v1 is not a package: it has no package.yaml",
    );
  });
}

test("layers in every compression", async () => {
  using folder = tempFolder();
  const store = await openContentStore(folder.path);
  const tar = await tarOf({ "package.yaml": "x" });
  const config = { mediaType: mediaTypes.ociConfig, digest: digestOf("{}"), size: 2 };
  for (const [mediaType, bytes] of [
    [mediaTypes.ociLayer, tar],
    [mediaTypes.ociLayerGzip, gzipSync(tar)],
    [mediaTypes.ociLayerZstd, zstdCompressSync(tar)],
  ] as const) {
    const layers = [{ ...(await add(store, bytes, mediaType)), ...marked }];
    assert.equal(await readPackageText({ mediaType: "", config, layers }, store, "x"), "x", mediaType);
  }
});

test("errors of a broken layer and of a decompression bomb name the package", async () => {
  using folder = tempFolder();
  const store = await openContentStore(folder.path);
  const config = { mediaType: mediaTypes.ociConfig, digest: digestOf("{}"), size: 2 };
  const read = async (bytes: Buffer, mediaType: string): Promise<string> => {
    const layers = [{ ...(await add(store, bytes, mediaType)), ...marked }];
    return readPackageText({ mediaType: "", config, layers }, store, "acme/f:v1");
  };
  await assert.rejects(
    read(Buffer.from("hello"), mediaTypes.ociLayerGzip),
    /^PackageError: acme\/f:v1: layer sha256:\w+ cannot be read: /,
  );
  const cut = gzipSync(await tarOf({ a: "x".repeat(10_000) })).subarray(0, 60);
  await assert.rejects(read(cut, mediaTypes.ociLayerGzip), /cannot be read: unexpected end of file/);
  // Zeros mark the end of a tar file; reading stops long before 300 MB of them.
  const bomb = zstdCompressSync(Buffer.alloc(300 * 1024 * 1024));
  assert.ok(bomb.length < 1024 * 1024);
  await assert.rejects(
    read(bomb, mediaTypes.ociLayerZstd),
    /^PackageError: acme\/f:v1: its layers unpack to more than is allowed$/,
  );
});

test("files that weigh nothing are counted, in all layers together", async () => {
  using folder = tempFolder();
  const store = await openContentStore(folder.path);
  const config = { mediaType: mediaTypes.ociConfig, digest: digestOf("{}"), size: 2 };
  // One header, again and again.
  const header = (await tarOf({ ".wh.x": "" })).subarray(0, 512);
  const many = await add(store, zstdCompressSync(Buffer.alloc(250_000 * 512, header)), mediaTypes.ociLayerZstd);
  const last = await add(store, await tarOf({ "package.yaml": "x" }), mediaTypes.ociLayer);
  const read = (layers: readonly Descriptor[]): Promise<string> =>
    readPackageText({ mediaType: "", config, layers }, store, "acme/f:v1");
  await assert.rejects(
    read([last, many, many]),
    (error: Error) =>
      isPackageError(error) && /^acme\/f:v1: its layers have more files than are allowed$/.test(error.message),
  );
});

test("the first marked layer is the one", () => {
  const layer = (size: number, mark?: string): Descriptor => ({
    mediaType: mediaTypes.ociLayerGzip,
    digest: digestOf("x"),
    size,
    ...(mark && { annotations: { "io.crossplane.xpkg": mark } }),
  });
  const config = layer(0);
  const sizes = (layers: Descriptor[]): number[] =>
    packageLayers({ mediaType: "", config, layers }).map(({ size }) => size);
  assert.deepEqual(sizes([layer(1), layer(2, "base"), layer(3, "base")]), [2]);
  assert.deepEqual(sizes([layer(1), layer(2, "upbound")]), [2, 1]);
});
