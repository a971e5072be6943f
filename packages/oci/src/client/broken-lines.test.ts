// SPDX-License-Identifier: Apache-2.0
// Pulls and pushes over lines that break, to a real registry.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type TestContext, test } from "node:test";
import { openContentStore } from "../content/content-store.ts";
import { type ImageReference, parseReference } from "../content/image-reference.ts";
import { digestOf, mediaTypes } from "../content/manifest.ts";
import { isOciError } from "../content/oci-error.ts";
import { type Registry, startRegistry } from "../registry/registry.ts";
import { createRegistryClient, type RegistryClient } from "./registry-client.ts";

/** A proxy to a server whose connections a test can cut. */
interface CuttingProxy extends AsyncDisposable {
  /** `127.0.0.1:<port>` */
  readonly address: string;
  /** Bytes that went each way, in all. */
  readonly sent: { up: number; down: number };
  /** How often the line broke. */
  readonly cuts: number;
  /** The line breaks after this many bytes in a direction, this often; then it holds. */
  cut(direction: "up" | "down", afterBytes: number, times: number): void;
}

interface Plan {
  readonly direction: "up" | "down";
  readonly afterBytes: number;
  left: number;
}

/** Puts a line in front of a server on loopback. Each connection counts its bytes by itself. */
async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const [host = "", port = ""] = target.split(":");
  const sent = { up: 0, down: 0 };
  const sockets = new Set<Socket>();
  let plan: Plan | undefined;
  let cuts = 0;

  function join(client: Socket): void {
    const server = connect(Number(port), host);
    const passed = { up: 0, down: 0 };
    const end = (): void => {
      client.destroy();
      server.destroy();
    };
    const pass = (direction: "up" | "down", from: Socket, to: Socket): void => {
      from.on("data", (bytes: Buffer) => {
        const room =
          plan?.direction === direction && plan.left > 0 ? plan.afterBytes - passed[direction] : bytes.length;
        const part = bytes.subarray(0, Math.max(0, room));
        passed[direction] += part.length;
        sent[direction] += part.length;
        if (part.length === bytes.length) return void to.write(part);
        if (plan !== undefined) plan.left--;
        cuts++;
        // What got this far arrives: the line breaks behind it.
        to.write(part, end);
      });
      from
        .on("error", end)
        .on("end", () => to.end())
        .on("close", () => sockets.delete(from));
      sockets.add(from);
    };
    pass("up", client, server);
    pass("down", server, client);
  }

  const listener = createServer(join);
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(listener.address() as AddressInfo).port}`,
    sent,
    get cuts() {
      return cuts;
    },
    cut(direction, afterBytes, times) {
      plan = { direction, afterBytes, left: times };
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise<void>((resolve) => listener.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

const size = 1_000_000;
const bytes = randomBytes(size);
const blob = { mediaType: mediaTypes.ociLayerGzip, digest: digestOf(bytes), size };
const open = (): Readable => Readable.from([bytes.subarray(0, 400_000), bytes.subarray(400_000)]);

interface Scene {
  readonly folder: string;
  readonly registry: Registry;
  readonly line: CuttingProxy;
  readonly client: RegistryClient;
  /** Over the line that breaks. */
  readonly reference: ImageReference;
  /** Straight to the registry. */
  readonly direct: ImageReference;
}

async function scene(t: TestContext): Promise<Scene> {
  const folder = await mkdtemp(join(tmpdir(), "purlin-lines-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const registry = await startRegistry({ directory: join(folder, "registry") });
  t.after(() => registry.close());
  const line = await startCuttingProxy(registry.address);
  t.after(() => line[Symbol.asyncDispose]());
  const client = createRegistryClient({ sleep: async () => {} });
  return {
    folder,
    registry,
    line,
    client,
    reference: parseReference(`${line.address}/acme/f:v1`),
    direct: parseReference(`${registry.address}/acme/f:v1`),
  };
}

const isUnreachable = (error: unknown): boolean => isOciError(error, "UNREACHABLE");

for (const times of [1, 2, 3, 12]) {
  test(`a pull whose line breaks ${times} times continues where it was`, async (t) => {
    const { folder, line, client, reference, direct } = await scene(t);
    await client.pushBlob(direct, { descriptor: blob, open });
    const store = await openContentStore(join(folder, "store"));
    line.cut("down", 250_000, times);
    await client.pullBlob(reference, { descriptor: blob, into: store });
    assert.deepEqual(await store.read(blob), bytes);
    assert.ok(line.cuts > 0 && line.cuts <= times, `it broke ${line.cuts} times`);
    // What was on its way when the line broke may come twice.
    assert.ok(line.sent.down < size + 200_000 * (times + 1), `${line.sent.down} bytes came for ${size}`);
  });
}

test("an aborted pull keeps its partial blob, and another process continues it", async (t) => {
  const { folder, line, client, reference, direct } = await scene(t);
  await client.pushBlob(direct, { descriptor: blob, open });
  const directory = join(folder, "store");
  line.cut("down", 600_000, 1);
  // From the second attempt on there is not even an answer.
  const impatient = createRegistryClient({ sleep: async () => line.cut("down", 10, 1000) });
  const pulling = impatient.pullBlob(reference, { descriptor: blob, into: await openContentStore(directory) });
  await assert.rejects(pulling, isUnreachable);
  const partial = await stat(join(directory, "partial", blob.digest.slice(7)));
  assert.ok(partial.size > 0 && partial.size < size, `${partial.size} bytes are there`);
  assert.deepEqual(await readdir(join(directory, "blobs", "sha256")), []);
  line.cut("down", 0, 0);
  const before = line.sent.down;
  const store = await openContentStore(directory);
  await createRegistryClient().pullBlob(reference, { descriptor: blob, into: store });
  assert.deepEqual(await store.read(blob), bytes);
  assert.ok(line.sent.down - before < size - partial.size + 50_000, "only the rest came");
  assert.deepEqual(await readdir(join(directory, "partial")), []);
});

test("an aborted pull leaves no blob that looks complete", async (t) => {
  const { folder, line, client, reference, direct } = await scene(t);
  await client.pushBlob(direct, { descriptor: blob, open });
  const directory = join(folder, "store");
  const store = await openContentStore(directory);
  const stopping = new AbortController();
  line.cut("down", 100_000, 1);
  const stopped = createRegistryClient({
    sleep: async () => stopping.abort(new Error("enough")),
  }).pullBlob(reference, { descriptor: blob, into: store }, { signal: stopping.signal });
  await assert.rejects(stopped);
  assert.equal(await store.has(blob.digest), false);
  await client.pullBlob(reference, { descriptor: blob, into: store });
  assert.deepEqual(await store.read(blob), bytes);
});

for (const times of [1, 3]) {
  test(`a push whose line breaks ${times} times starts clean each time, and arrives whole`, async (t) => {
    const { folder, line, client, reference, registry } = await scene(t);
    line.cut("up", 300_000, times);
    await client.pushBlob(reference, { descriptor: blob, open });
    assert.equal(line.cuts, times);
    assert.deepEqual(await registry.store.read(blob), bytes);
    assert.deepEqual(await readdir(join(folder, "registry", "uploads")), [], "no half upload is left behind");
  });
}

test("a push that is given up leaves nothing in the registry; the next one arrives", async (t) => {
  const { folder, line, client, reference, registry } = await scene(t);
  line.cut("up", 300_000, 1000);
  await assert.rejects(client.pushBlob(reference, { descriptor: blob, open }), isUnreachable);
  assert.equal(line.cuts, 4, "it was tried four times");
  assert.equal(await registry.store.has(blob.digest), false);
  line.cut("up", 0, 0);
  await client.pushBlob(reference, { descriptor: blob, open });
  assert.deepEqual(await registry.store.read(blob), bytes);
  while ((await readdir(join(folder, "registry", "uploads"))).length > 0) await new Promise((go) => setImmediate(go));
});

test("a manifest request is retried after a lost connection", async (t) => {
  const { line, client, reference, direct, registry } = await scene(t);
  const config = Buffer.from("{}");
  const descriptor = { mediaType: mediaTypes.ociConfig, digest: digestOf(config), size: 2 };
  await client.pushBlob(direct, { descriptor, open: () => Readable.from([config]) });
  const annotations = { filler: "x".repeat(300_000) };
  const document = { schemaVersion: 2, mediaType: mediaTypes.ociManifest, config: descriptor, layers: [], annotations };
  const manifest = Buffer.from(JSON.stringify(document));
  line.cut("up", 100_000, 2);
  const digest = await client.pushManifest(reference, { bytes: manifest, mediaType: mediaTypes.ociManifest });
  assert.deepEqual([digest, line.cuts], [digestOf(manifest), 2]);
  assert.equal(await client.resolve(direct), digest);
  assert.ok(await registry.store.has(digest));
  line.cut("down", 100_000, 2);
  assert.equal((await client.manifest(reference)).descriptor.digest, digest);
});
