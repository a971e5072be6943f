// SPDX-License-Identifier: Apache-2.0
// Packages of every size: streams hand over their contents in parts, and what works for one part breaks for several.
import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { test } from "node:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import { pack } from "tar-stream";
import { type ContentStore, openContentStore } from "../content/content-store.ts";
import { type Descriptor, digestOf, type ImageManifest, mediaTypes } from "../content/manifest.ts";
import { parsePackage } from "./package-contents.ts";
import { readPackageText } from "./read-package.ts";

const kib = 1024;
const meta = "---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Provider\nmetadata: {name: provider-large}\n";

/** One CRD of about 20 KiB, as providers have hundreds of them. */
function crd(at: number): string {
  const fields = Array.from({ length: 150 }, (_, field) =>
    [
      `              field${field}:`,
      `                description: Field ${field} of kind ${at}, with a description as long as most of them are.`,
      "                type: string\n",
    ].join("\n"),
  );
  return `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things${at}.example.org}
spec:
  group: example.org
  scope: Cluster
  names: {plural: things${at}, kind: Thing${at}}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
${fields.join("")}`;
}

/** A package.yaml of exactly this many bytes: CRDs, and a comment for the rest. */
function packageOf(bytes: number): { readonly text: string; readonly crds: number } {
  const parts = [meta];
  let size = meta.length;
  for (;;) {
    const next = crd(parts.length);
    if (size + next.length > bytes) break;
    parts.push(next);
    size += next.length;
  }
  const rest = bytes - size;
  parts.push(rest === 0 ? "" : `${"#".repeat(rest - 1)}\n`);
  return { text: parts.join(""), crds: parts.length - 2 };
}

async function tarOf(files: readonly (readonly [name: string, text: string])[]): Promise<Buffer> {
  const tar = pack();
  for (const [name, text] of files) tar.entry({ name }, text);
  tar.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of tar) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const compressions: Readonly<Record<string, (tar: Buffer) => Buffer>> = {
  [mediaTypes.ociLayer]: (tar) => tar,
  [mediaTypes.ociLayerGzip]: (tar) => gzipSync(tar, { level: 1 }),
  [mediaTypes.ociLayerZstd]: (tar) => zstdCompressSync(tar),
};

async function addLayer(store: ContentStore, tar: Buffer, mediaType: string): Promise<Descriptor> {
  const bytes = compressions[mediaType]?.(tar) ?? tar;
  const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.length };
  await store.ingest(descriptor, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
  return descriptor;
}

const config = { mediaType: mediaTypes.ociConfig, digest: digestOf("{}"), size: 2 };
const imageOf = (layers: readonly Descriptor[]): ImageManifest => ({ mediaType: "", config, layers });
const base = { annotations: { "io.crossplane.xpkg": "base" } };
const examples = { annotations: { "io.crossplane.xpkg": "upbound" } };

// Around what one read of a file, of a decompressor and of a stream's buffer gives.
const parts = [16, 32, 64, 128].flatMap((size) => [size * kib - 1, size * kib, size * kib + 1]);
for (const bytes of [meta.length, 4 * kib, ...parts, 1_000 * kib, 5_000_000, 20_000_000]) {
  test(`a package.yaml of ${bytes} bytes is read whole, in every compression`, async () => {
    using folder = tempFolder();
    const store = await openContentStore(folder.path);
    const { text, crds } = packageOf(bytes);
    assert.equal(Buffer.byteLength(text), bytes);
    const tar = await tarOf([["package.yaml", text]]);
    for (const mediaType of Object.keys(compressions)) {
      const layer = { ...(await addLayer(store, tar, mediaType)), ...base };
      const found = await readPackageText(imageOf([layer]), store, "acme/p:v1");
      assert.ok(found === text, mediaType);
    }
    assert.equal((await parsePackage(text)).objects.length, crds);
  });
}

/** Every order of a list. */
function orders<T>(list: readonly T[]): T[][] {
  if (list.length <= 1) return [[...list]];
  return list.flatMap((one, at) => orders(list.toSpliced(at, 1)).map((rest) => [one, ...rest]));
}

test("a large package.yaml is found with layers, and files of a layer, in every order", async () => {
  using folder = tempFolder();
  const store = await openContentStore(folder.path);
  const { text } = packageOf(700 * kib);
  const large = "x".repeat(300 * kib);
  const runtime = await addLayer(store, await tarOf([["bin/provider", large]]), mediaTypes.ociLayerGzip);
  const more = await addLayer(store, await tarOf([[".up/examples.yaml", large]]), mediaTypes.ociLayerZstd);
  const beside = [
    ["package.yaml", text],
    ["a", large],
    [".wh.b", ""],
  ] as const;
  for (const files of orders(beside)) {
    const packageLayer = await addLayer(store, await tarOf(files), mediaTypes.ociLayerGzip);
    for (const marks of [
      { base, examples },
      { base: {}, examples: {} },
    ]) {
      const layers = [runtime, { ...packageLayer, ...marks.base }, { ...more, ...marks.examples }];
      for (const order of orders(layers)) {
        assert.ok((await readPackageText(imageOf(order), store, "acme/p:v1")) === text);
      }
    }
  }
});

test("a package.yaml that ends in the middle is not taken for a whole one", async () => {
  using folder = tempFolder();
  const store = await openContentStore(folder.path);
  const tar = await tarOf([["package.yaml", packageOf(200 * kib).text]]);
  for (const mediaType of Object.keys(compressions)) {
    const layer = { ...(await addLayer(store, tar.subarray(0, 100 * kib), mediaType)), ...base };
    await assert.rejects(
      readPackageText(imageOf([layer]), store, "acme/p:v1"),
      /^PackageError: acme\/p:v1: layer sha256:\w+ cannot be read: Unexpected end of data$/,
    );
  }
});
