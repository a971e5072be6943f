// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm, stat, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { createRegistryClient, type RegistryClient } from "../client/registry-client.ts";
import { openContentStore } from "../content/content-store.ts";
import { parseReference } from "../content/image-reference.ts";
import { type Descriptor, digestOf, hexOf, mediaTypes } from "../content/manifest.ts";
import { type Registry, startRegistry } from "./registry.ts";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "purlin-registry-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function serve(t: TestContext, directory?: string): Promise<Registry> {
  const registry = await startRegistry({ directory: directory ?? (await folder(t)), maxBlobBytes: 1_000_000 });
  t.after(() => registry.close());
  return registry;
}

const describe = (bytes: Uint8Array, mediaType: string): Descriptor => ({
  mediaType,
  digest: digestOf(bytes),
  size: bytes.length,
});

async function pushImage(client: RegistryClient, name: string, layer: Uint8Array): Promise<string> {
  const reference = parseReference(name);
  const configBytes = Buffer.from(JSON.stringify({ os: "linux", architecture: "amd64" }));
  const config = describe(configBytes, mediaTypes.ociConfig);
  const layers = [describe(layer, mediaTypes.ociLayerGzip)];
  await client.pushBlob(reference, { descriptor: config, open: () => Readable.from([configBytes]) });
  for (const one of layers) await client.pushBlob(reference, { descriptor: one, open: () => Readable.from([layer]) });
  const manifest = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers }));
  return client.pushManifest(reference, { bytes: manifest, mediaType: mediaTypes.ociManifest });
}

test("a pushed image is pulled by tag and by digest, also after a restart", async (t) => {
  const directory = await folder(t);
  const first = await startRegistry({ directory });
  const client = createRegistryClient();
  const layer = randomBytes(100_000);
  const digest = await pushImage(client, `${first.address}/acme/function-bucket:v1`, layer);
  await first.close();

  const registry = await serve(t, directory);
  const name = `${registry.address}/acme/function-bucket`;
  const other = createRegistryClient();
  assert.equal(await other.resolve(parseReference(`${name}:v1`)), digest);
  const fetched = await other.manifest(parseReference(`${name}@${digest}`));
  assert.equal(fetched.descriptor.digest, digest);
  assert.ok(fetched.manifest.kind === "image");
  const store = await openContentStore(await folder(t));
  const [descriptor] = fetched.manifest.image.layers;
  assert.ok(descriptor);
  await other.pullBlob(parseReference(`${name}:v1`), { descriptor, into: store });
  assert.deepEqual(await store.read(descriptor), layer);
  assert.deepEqual(await other.tags(parseReference(`${name}:v1`)), ["v1"]);
});

test("a tag moves, and both images stay", async (t) => {
  const registry = await serve(t);
  const client = createRegistryClient();
  const name = `${registry.address}/acme/f:v1`;
  const one = await pushImage(client, name, randomBytes(10));
  const two = await pushImage(client, name, randomBytes(11));
  assert.notEqual(one, two);
  assert.equal(await client.resolve(parseReference(name)), two);
  await client.manifest(parseReference(`${registry.address}/acme/f@${one}`));
});

test("tags come in pages, and the client follows them", async (t) => {
  const registry = await serve(t);
  const client = createRegistryClient();
  for (const tag of ["v1", "v2", "v3", "v10"])
    await pushImage(client, `${registry.address}/acme/f:${tag}`, Buffer.of(1));
  const page = await fetch(`http://${registry.address}/v2/acme/f/tags/list?n=3`);
  assert.deepEqual(await page.json(), { name: "acme/f", tags: ["v1", "v10", "v2"] });
  const link = /<([^>]+)>/.exec(page.headers.get("link") ?? "")?.[1];
  const rest = await fetch(`http://${registry.address}${link}`);
  assert.deepEqual(await rest.json(), { name: "acme/f", tags: ["v3"] });
  const catalog = await fetch(`http://${registry.address}/v2/_catalog`);
  assert.deepEqual(await catalog.json(), { repositories: ["acme/f"] });
});

test("a blob comes in pieces, and only where it continues", async (t) => {
  const { address } = await serve(t);
  const bytes = randomBytes(1000);
  const started = await fetch(`http://${address}/v2/acme/f/blobs/uploads/`, { method: "POST" });
  assert.equal(started.status, 202);
  const upload = `http://${address}${started.headers.get("location")}`;
  const piece = (from: number, to: number): Promise<Response> =>
    fetch(upload, {
      method: "PATCH",
      headers: { "content-range": `${from}-${to - 1}` },
      body: bytes.subarray(from, to),
    });
  assert.equal((await piece(0, 400)).headers.get("range"), "0-399");
  assert.equal((await piece(500, 1000)).status, 416);
  assert.equal((await fetch(upload)).headers.get("range"), "0-399");
  assert.equal((await piece(400, 1000)).status, 202);
  const wrong = await fetch(`${upload}?digest=${digestOf("something else")}`, { method: "PUT" });
  assert.deepEqual([wrong.status, await codeOf(wrong)], [400, "DIGEST_INVALID"]);
  const gone = await fetch(`${upload}?digest=${digestOf(bytes)}`, { method: "PUT" });
  assert.deepEqual([gone.status, await codeOf(gone)], [404, "BLOB_UPLOAD_UNKNOWN"], "a wrong upload starts again");
});

async function codeOf(response: Response): Promise<string | undefined> {
  const body = (await response.json()) as { errors?: { code: string }[] };
  return body.errors?.[0]?.code;
}

test("ranges of blobs", async (t) => {
  const registry = await serve(t);
  const bytes = randomBytes(100);
  const client = createRegistryClient();
  await pushImage(client, `${registry.address}/acme/f:v1`, bytes);
  const url = `http://${registry.address}/v2/acme/f/blobs/${digestOf(bytes)}`;
  const rows: { range: string; status: number; expected: Buffer | undefined }[] = [
    { range: "bytes=0-9", status: 206, expected: bytes.subarray(0, 10) },
    { range: "bytes=90-", status: 206, expected: bytes.subarray(90) },
    { range: "bytes=90-900", status: 206, expected: bytes.subarray(90) },
    { range: "bytes=100-", status: 416, expected: undefined },
    { range: "bytes=0-1,5-6", status: 200, expected: bytes },
    { range: "lines=1-2", status: 200, expected: bytes },
  ];
  for (const { range, status, expected } of rows) {
    const response = await fetch(url, { headers: { range } });
    const body = Buffer.from(await response.arrayBuffer());
    assert.equal(response.status, status, range);
    if (expected !== undefined) assert.deepEqual(body, expected, range);
  }
});

test("error responses of the registry", async (t) => {
  const { address } = await serve(t);
  const unknown = digestOf("nothing");
  const rows: { what: string; path: string; init?: RequestInit; status: number; code: string }[] = [
    { what: "an unknown tag", path: "/v2/acme/f/manifests/v1", status: 404, code: "MANIFEST_UNKNOWN" },
    { what: "an unknown digest", path: `/v2/acme/f/manifests/${unknown}`, status: 404, code: "MANIFEST_UNKNOWN" },
    { what: "an unknown blob", path: `/v2/acme/f/blobs/${unknown}`, status: 404, code: "BLOB_UNKNOWN" },
    { what: "a digest of another kind", path: "/v2/acme/f/blobs/md5:00", status: 400, code: "DIGEST_INVALID" },
    { what: "an unknown repository", path: "/v2/acme/f/tags/list", status: 404, code: "NAME_UNKNOWN" },
    { what: "a name with capitals", path: "/v2/ACME/tags/list", status: 404, code: "NAME_UNKNOWN" },
    { what: "a name that climbs", path: "/v2/acme/..%2f..%2fetc/tags/list", status: 404, code: "NAME_UNKNOWN" },
    { what: "a name that hides", path: "/v2/acme/_tags/tags/list", status: 404, code: "NAME_UNKNOWN" },
    {
      what: "an invalid manifest",
      path: "/v2/acme/f/manifests/v1",
      init: { method: "PUT", body: "hello" },
      status: 400,
      code: "MANIFEST_INVALID",
    },
    {
      what: "a manifest without its parts",
      path: "/v2/acme/f/manifests/v1",
      init: { method: "PUT", body: manifestOf(unknown), headers: { "content-type": mediaTypes.ociManifest } },
      status: 404,
      code: "MANIFEST_BLOB_UNKNOWN",
    },
    {
      what: "a manifest under another digest",
      path: `/v2/acme/f/manifests/${unknown}`,
      init: { method: "PUT", body: manifestOf(unknown), headers: { "content-type": mediaTypes.ociManifest } },
      status: 400,
      code: "DIGEST_INVALID",
    },
    {
      what: "a blob that is too large",
      path: `/v2/acme/f/blobs/uploads/?digest=${unknown}`,
      init: { method: "POST", body: new Uint8Array(1_000_001) },
      status: 413,
      code: "SIZE_INVALID",
    },
    {
      what: "a web page",
      path: "/v2/acme/f/blobs/uploads/",
      init: { method: "POST", headers: { origin: "http://evil.example" } },
      status: 403,
      code: "DENIED",
    },
  ];
  for (const { what, path, init, status, code } of rows) {
    const response = await fetch(`http://${address}${path}`, init);
    assert.deepEqual([response.status, await codeOf(response)], [status, code], what);
  }
});

function manifestOf(layer: string): string {
  const part = { mediaType: mediaTypes.ociLayerGzip, digest: layer, size: 1 };
  return JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociManifest, config: part, layers: [part] });
}

test("removing a manifest takes its tags along; what nothing names can be collected", async (t) => {
  const registry = await serve(t);
  const client = createRegistryClient();
  const keptLayer = randomBytes(10);
  const kept = await pushImage(client, `${registry.address}/acme/f:kept`, keptLayer);
  const goneLayer = randomBytes(10);
  const gone = await pushImage(client, `${registry.address}/acme/f:gone`, goneLayer);
  const removed = await fetch(`http://${registry.address}/v2/acme/f/manifests/${gone}`, { method: "DELETE" });
  assert.equal(removed.status, 202);
  await assert.rejects(client.resolve(parseReference(`${registry.address}/acme/f:gone`)), /MANIFEST_UNKNOWN/);
  await registry.store.collect({ keep: await registry.reachable(), maxBytes: 0 });
  assert.equal(await registry.store.has(digestOf(goneLayer)), false);
  assert.equal(await registry.store.has(digestOf(keptLayer)), true);
  assert.equal(await client.resolve(parseReference(`${registry.address}/acme/f:kept`)), kept);
});

test("the registry collects what no manifest names once no push can need it, and no image that lost its tag lately", async (t) => {
  const registry = await serve(t);
  const client = createRegistryClient();
  const [first, second, stray, fresh] = [randomBytes(10), randomBytes(10), randomBytes(10), randomBytes(10)];
  const untagged = await pushImage(client, `${registry.address}/acme/f:v1`, first);
  await pushImage(client, `${registry.address}/acme/f:v1`, second);
  for (const bytes of [stray, fresh]) {
    await registry.store.ingest({ digest: digestOf(bytes), size: 10 }, async () => ({
      bytes: Readable.from([bytes]),
      offset: 0,
    }));
  }
  const yesterday = new Date(Date.now() - 24 * 3_600_000);
  for (const bytes of [first, second, stray])
    await utimes(registry.store.pathOf(digestOf(bytes)), yesterday, yesterday);
  assert.equal(await registry.collect(), 10);
  const left = await Promise.all([first, second, stray, fresh].map((bytes) => registry.store.has(digestOf(bytes))));
  assert.deepEqual(left, [true, true, false, true], "a push may still be on its way");
  const digest = parseReference(`${registry.address}/acme/f@${untagged}`);
  assert.equal(await client.resolve(digest), untagged, "an image that lost its tag is still named by its digest");
});

test("an image that lost its tag a week ago goes with its layers, unless it is to be kept", async (t) => {
  const directory = await folder(t);
  const registry = await serve(t, directory);
  const client = createRegistryClient();
  const [kept, lost, now] = [randomBytes(10), randomBytes(10), randomBytes(10)];
  const name = `${registry.address}/acme/f:v1`;
  const [keptDigest, lostDigest] = [await pushImage(client, name, kept), await pushImage(client, name, lost)];
  const current = await pushImage(client, name, now);
  const lastMonth = new Date(Date.now() - 30 * 24 * 3_600_000);
  const manifests = join(directory, "repositories", "acme", "f", "_manifests");
  for (const one of [keptDigest, lostDigest, current]) await utimes(join(manifests, hexOf(one)), lastMonth, lastMonth);
  for (const one of [lostDigest, digestOf(lost), digestOf(kept), digestOf(now)])
    await utimes(registry.store.pathOf(one), lastMonth, lastMonth);
  const freed = await registry.collect([keptDigest]);
  assert.ok(freed > 10, "the layer and the manifest");
  const left = await Promise.all([kept, lost, now].map((bytes) => registry.store.has(digestOf(bytes))));
  assert.deepEqual(left, [true, false, true]);
  const at = (digest: string): string => `${registry.address}/acme/f@${digest}`;
  await client.manifest(parseReference(at(keptDigest)));
  await assert.rejects(client.manifest(parseReference(at(lostDigest))), /MANIFEST_UNKNOWN/);
  assert.equal(await client.resolve(parseReference(name)), current);
  await registry.collect();
  await client.manifest(parseReference(at(keptDigest)));
});

test("parts of an index that were pushed long ago are as new as the index", async (t) => {
  const directory = await folder(t);
  const { address } = await serve(t, directory);
  const client = createRegistryClient();
  const digest = await pushImage(client, `${address}/acme/f:v1`, randomBytes(10));
  const file = join(directory, "repositories", "acme", "f", "_manifests", hexOf(digest));
  const lastMonth = new Date(Date.now() - 30 * 24 * 3_600_000);
  await utimes(file, lastMonth, lastMonth);
  const manifests = [{ mediaType: mediaTypes.ociManifest, digest, size: 1 }];
  const index = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: mediaTypes.ociIndex, manifests }));
  await client.pushManifest(parseReference(`${address}/acme/f:v2`), { bytes: index, mediaType: mediaTypes.ociIndex });
  assert.ok((await stat(file)).mtimeMs > lastMonth.getTime() + 1000);
});
