// SPDX-License-Identifier: Apache-2.0

import assert from "node:assert/strict";
import { readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import { after, before, suite, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import { serveHttp } from "../../test/http-script.ts";
import { createRegistryClient } from "../client/registry-client.ts";
import { type ContentStore, openContentStore } from "../content/content-store.ts";
import { type ImageReference, parseReference } from "../content/image-reference.ts";
import { digestOf, mediaTypes, type Platform } from "../content/manifest.ts";
import { isOciError } from "../content/oci-error.ts";
import { fileEntry } from "../image/layer-archive.ts";
import { type Registry, startRegistry } from "../registry/registry.ts";
import { type BuiltImage, buildImage, isComplete, pullImage, pushPackage } from "./package-image.ts";
import { packageLayers } from "./read-package.ts";

const amd: Platform = { os: "linux", architecture: "amd64" };
const arm: Platform = { os: "linux", architecture: "arm64" };
const process = { entrypoint: ["/function"], cmd: [], env: [], workingDir: "/", user: "2000" };
const packageYaml = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-x}\n";

suite("pulling and pushing images", () => {
  let folder: TempFolder;
  let registry: Registry;
  let built: ContentStore;
  let made = 0;
  const client = createRegistryClient({ sleep: async () => {} });
  before(async () => {
    folder = tempFolder();
    registry = await startRegistry({ directory: join(folder.path, "registry") });
    built = await openContentStore(join(folder.path, "built"));
  });
  after(async () => {
    await registry.close();
    folder[Symbol.dispose]();
  });

  const newStore = (): Promise<ContentStore> => openContentStore(join(folder.path, `store${++made}`));
  const reference = (name: string): ImageReference => parseReference(`${registry.address}/acme/${name}:v1`);
  const build = (platform: Platform, note: string): Promise<BuiltImage> =>
    buildImage(built, { platform, process, base: [], layers: [[fileEntry("function", note)]], packageYaml });

  test("one image is pushed as it is, and only what is missing is sent", async () => {
    const image = await build(amd, "one");
    const sent: string[] = [];
    const options = { onBlob: ({ digest }: { digest: string }) => void sent.push(digest) };
    const digest = await pushPackage(client, built, { images: [image], to: reference("one"), options });
    assert.equal(digest, image.descriptor.digest);
    assert.deepEqual(
      sent,
      [image.manifest.config, ...image.manifest.layers].map((part) => part.digest),
    );
    const again = await pushPackage(client, built, { images: [image], to: reference("one") });
    assert.equal(again, digest);
  });

  test("several become an index of platforms, whose order is that of the files", async () => {
    const images = [await build(arm, "many"), await build(amd, "many")];
    const digest = await pushPackage(client, built, { images, to: reference("many") });
    const { manifest, descriptor } = await client.manifest(reference("many"));
    assert.ok(manifest.kind === "index");
    assert.deepEqual([descriptor.digest, descriptor.mediaType], [digest, mediaTypes.ociIndex]);
    assert.deepEqual(
      manifest.index.manifests.map(({ digest: one, platform }) => [one, platform?.architecture]),
      images.map(({ descriptor: { digest: one } }, at) => [one, at === 0 ? "arm64" : "amd64"]),
    );
    assert.equal(
      await pushPackage(client, built, { images, to: reference("many-again") }),
      digest,
      "the same each time",
    );
  });

  test("only blobs that are missing from the store are fetched", async () => {
    const image = await build(amd, "kept");
    await pushPackage(client, built, { images: [image], to: reference("kept") });
    const store = await newStore();
    const pinned = { ...reference("kept"), digest: image.descriptor.digest };
    const options = { platform: amd };
    await pullImage(client, store, { reference: pinned, options });
    assert.equal(await isComplete(store, image.descriptor.digest, amd), true);
    const [layer] = image.manifest.layers;
    assert.ok(layer);
    await rm(store.pathOf(layer.digest));
    assert.equal(await isComplete(store, image.descriptor.digest, amd), false);
    await pullImage(client, store, { reference: pinned, options });
    assert.equal(await isComplete(store, image.descriptor.digest, amd), true);
  });

  test("only the layers that are wanted come, and the configuration always does", async () => {
    const image = await build(amd, "light");
    await pushPackage(client, built, { images: [image], to: reference("light") });
    const store = await newStore();
    await pullImage(client, store, {
      reference: reference("light"),
      options: { platform: amd, layers: packageLayers },
    });
    const [runtime, packaged] = image.manifest.layers;
    const parts = [image.descriptor, image.manifest.config, packaged, runtime].map((part) =>
      store.has(part?.digest ?? ""),
    );
    assert.deepEqual(await Promise.all(parts), [true, true, true, false]);
  });

  test("without a registry, a complete image in the store is used, by digest only", async () => {
    const image = await build(amd, "offline");
    await pushPackage(client, built, { images: [image], to: reference("offline") });
    const store = await newStore();
    const nowhere = { ...reference("offline"), registry: "127.0.0.1:1", digest: image.descriptor.digest };
    await assert.rejects(pullImage(client, store, { reference: nowhere, options: { platform: amd } }), (error) =>
      isOciError(error, "UNREACHABLE"),
    );
    await pullImage(client, store, { reference: reference("offline"), options: { platform: amd } });
    await pullImage(client, store, { reference: nowhere, options: { platform: amd } });
    await assert.rejects(
      pullImage(client, store, { reference: nowhere, options: { platform: amd, preferStore: false } }),
      (error) => isOciError(error, "UNREACHABLE"),
      "Always asks",
    );
  });

  test("a nested image index is rejected", async () => {
    const image = await build(amd, "nested");
    await pushPackage(client, built, { images: [image], to: reference("nested") });
    const put = async (document: object, tag: string): Promise<string> =>
      client.pushManifest(
        { ...reference("nested"), tag },
        { bytes: Buffer.from(JSON.stringify(document)), mediaType: mediaTypes.ociIndex },
      );
    const index = (digest: string, mediaType: string): object => ({
      schemaVersion: 2,
      mediaType: mediaTypes.ociIndex,
      manifests: [{ mediaType, digest, size: 1, platform: amd }],
    });
    const inner = await put(index(image.descriptor.digest, mediaTypes.ociManifest), "inner");
    const outer = await put(index(inner, mediaTypes.ociIndex), "outer");
    const store = await newStore();
    const options = { platform: amd };
    await assert.rejects(
      pullImage(client, store, { reference: { ...reference("nested"), tag: "outer" }, options }),
      /nested image indexes are not supported/,
    );
    assert.equal(await isComplete(store, outer, amd), false);
  });

  test("isComplete is false for missing blobs and other manifests", async () => {
    const store = await newStore();
    assert.equal(await isComplete(store, digestOf("nothing"), amd), false);
    const junk = Buffer.from("hello");
    await store.ingest({ digest: digestOf(junk), size: junk.length }, async () => ({
      bytes: Readable.from([junk]),
      offset: 0,
    }));
    assert.equal(await isComplete(store, digestOf(junk), amd), false);
    const images = [await build(arm, "x"), await build(amd, "x")];
    const digest = await pushPackage(client, built, { images, to: reference("partly") });
    await pullImage(client, store, { reference: reference("partly"), options: { platform: arm } });
    assert.deepEqual([await isComplete(store, digest, arm), await isComplete(store, digest, amd)], [true, false]);
    assert.equal(await isComplete(store, digest, { os: "linux", architecture: "mips" }), false);
  });

  test("a registry that sends other bytes than it named gets nothing into the store", async (t) => {
    const image = await build(amd, "lying");
    const lie = Buffer.from(image.bytes.toString().replace("amd", "arm"));
    const rows: { why: string; manifest: Buffer; blob: (digest: string) => Promise<Buffer>; says: RegExp }[] = [
      {
        why: "another manifest",
        manifest: Buffer.concat([image.bytes, Buffer.from(" ")]),
        blob: (digest) => built.read({ digest }),
        says: /digest mismatch: got sha256:/,
      },
      {
        why: "another blob",
        manifest: image.bytes,
        blob: async (digest) => Buffer.from("x".repeat((await built.read({ digest })).length)),
        says: /digest mismatch: want sha256:\w+, got sha256:/,
      },
      {
        why: "a longer blob",
        manifest: image.bytes,
        blob: async (digest) => Buffer.concat([await built.read({ digest }), Buffer.from("x")]),
        says: /sha256:\w+: received more than/,
      },
    ];
    assert.ok(lie.length > 0);
    for (const { why, manifest, blob, says } of rows) {
      const { host } = await serveHttp(t, (request, response) => {
        if (request.url?.includes("/manifests/"))
          return void response.writeHead(200, { "content-type": mediaTypes.ociManifest }).end(manifest);
        const digest = request.url?.split("/").at(-1) ?? "";
        void blob(digest).then((bytes) => response.writeHead(200).end(bytes));
      });
      const store = await newStore();
      const from = parseReference(`${host}/acme/f@${image.descriptor.digest}`);
      await assert.rejects(
        pullImage(client, store, { reference: from, options: { platform: amd } }),
        (error: Error) => isOciError(error, "DIGEST_MISMATCH") && says.test(error.message),
        why,
      );
      const kept = await readdir(join(store.pathOf(image.descriptor.digest), ".."));
      for (const name of kept)
        assert.equal(digestOf(await built.read({ digest: `sha256:${name}` })), `sha256:${name}`, why);
    }
  });

  test("an image that says it is larger than what is unpacked is not fetched", async (t) => {
    const part = { mediaType: mediaTypes.ociLayerGzip, digest: digestOf("x"), size: 1 };
    const gigabytes = (count: number): object => ({ ...part, size: count * 1024 ** 3 });
    const rows: { why: string; config: object; layers: object[]; says: RegExp }[] = [
      {
        why: "a configuration that does not belong into memory",
        config: { ...part, size: 4 * 1024 ** 2 + 1 },
        layers: [],
        says: /: its configuration has 4194305 bytes; 4 MiB are allowed$/,
      },
      {
        why: "one layer that fills the disk",
        config: part,
        layers: [gigabytes(1024)],
        says: /: its layers have 1099511627776 bytes; 4 GiB are allowed$/,
      },
      {
        why: "many that do together",
        config: part,
        layers: [gigabytes(1), gigabytes(1), gigabytes(1), gigabytes(1), part],
        says: /: its layers have 4294967297 bytes/,
      },
    ];
    for (const { why, config, layers, says } of rows) {
      const manifest = JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers });
      const { host, asked } = await serveHttp(t, (_, response) => void response.end(manifest));
      const pulled = pullImage(client, await newStore(), {
        reference: parseReference(`${host}/acme/f:v1`),
        options: { platform: amd },
      });
      await assert.rejects(pulled, (error: Error) => isOciError(error, "TOO_LARGE") && says.test(error.message), why);
      assert.deepEqual(
        asked.filter((line) => line.includes("/blobs/")),
        [],
        why,
      );
    }
  });

  test("a store that was damaged is found out when it is read as a manifest", async () => {
    const image = await build(amd, "damaged");
    await pushPackage(client, built, { images: [image], to: reference("damaged") });
    const store = await newStore();
    const pinned = { ...reference("damaged"), digest: image.descriptor.digest };
    await pullImage(client, store, { reference: pinned, options: { platform: amd } });
    await writeFile(store.pathOf(image.descriptor.digest), "{");
    await assert.rejects(pullImage(client, store, { reference: pinned, options: { platform: amd } }), /is not JSON/);
    assert.equal(await isComplete(store, image.descriptor.digest, amd), false);
  });
});
