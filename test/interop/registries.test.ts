// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import {
  type BuiltImage,
  buildImage,
  type ContentStore,
  createRegistryClient,
  folderEntries,
  isOciError,
  openContentStore,
  parseReference,
  pullImage,
  pushPackage,
  type RegistryClientOptions,
  readPackageText,
  registryUser,
  startRegistry,
  unpackLayer,
  writeArchive,
} from "@purlin/oci";
import { type RegistryAuth, startDockerRegistry } from "./docker-registry.ts";

const run = promisify(execFile);
const platform = { os: "linux", architecture: "amd64" };
const packageYaml = "---\napiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-x}\n---\n";

async function folder(t: TestContext): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "purlin-registries-"));
  t.after(() => rm(made, { recursive: true, force: true }));
  return made;
}

async function built(t: TestContext): Promise<{ store: ContentStore; image: BuiltImage }> {
  const store = await openContentStore(await folder(t));
  const root = await folder(t);
  await writeFile(join(root, "function"), Buffer.alloc(2_000_000, "purlin"));
  const process = { entrypoint: ["/function"], cmd: [], env: [], workingDir: "/", user: "2000" };
  const layers = [folderEntries(root)];
  return { store, image: await buildImage(store, { platform, process, base: [], layers, packageYaml }) };
}

async function ours(t: TestContext): Promise<string> {
  const registry = await startRegistry({ directory: await folder(t) });
  t.after(() => registry.close());
  return registry.address;
}

/** Copies an image with skopeo, which takes digests seriously. */
async function skopeo(from: string, to: string, ...flags: string[]): Promise<void> {
  const insecure = ["--src-tls-verify=false", "--dest-tls-verify=false", "--insecure-policy"];
  const [policy = "", ...rest] = insecure.toReversed();
  await run("skopeo", [policy, "copy", ...rest, ...flags, from, to]);
}

async function digestAt(reference: string): Promise<string> {
  return createRegistryClient().resolve(parseReference(reference));
}

const me = (): { username: string; password: string } => ({ username: "me", password: "secret" });

for (const auth of ["none", "basic", "token"] as const satisfies readonly RegistryAuth[]) {
  test(`a real registry with ${auth} authentication takes and gives our packages`, async (t) => {
    const address = await startDockerRegistry(t, auth);
    const { store, image } = await built(t);
    const options: RegistryClientOptions = auth === "none" ? {} : { credentials: me };
    const client = createRegistryClient(options);
    const to = parseReference(`${address}/acme/function-x:v1`);
    assert.equal(await pushPackage(client, store, { images: [image], to }), image.descriptor.digest);
    const local = await openContentStore(await folder(t));
    const pulled = await pullImage(createRegistryClient(options), local, { reference: to, options: { platform } });
    assert.equal(pulled.digest, image.descriptor.digest);
    assert.equal(await readPackageText(pulled.manifest, local, "x"), packageYaml);
    assert.equal(await client.resolve(to), image.descriptor.digest);
    assert.deepEqual(await client.tags(to), ["v1"]);
    const unknown = parseReference(`${address}/acme/function-x:v2`);
    await assert.rejects(client.manifest(unknown), (error) => isOciError(error, "NOT_FOUND"));
    if (auth === "none") return;
    const strangers: RegistryClientOptions[] = [{}, { credentials: () => ({ username: "me", password: "wrong" }) }];
    for (const stranger of strangers) {
      await assert.rejects(createRegistryClient(stranger).manifest(to), (error) => isOciError(error, "UNAUTHORIZED"));
    }
  });
}

test("skopeo carries a package from our registry to a real one and back, and nothing changes", async (t) => {
  const [here, there, back] = [await ours(t), await startDockerRegistry(t, "none"), await ours(t)];
  const { store, image } = await built(t);
  const name = "acme/function-x:v1";
  await pushPackage(createRegistryClient(), store, { images: [image], to: parseReference(`${here}/${name}`) });
  await skopeo(`docker://${here}/${name}`, `docker://${there}/${name}`);
  await skopeo(`docker://${there}/${name}`, `docker://${back}/${name}`);
  assert.equal(await digestAt(`${there}/${name}`), image.descriptor.digest);
  assert.equal(await digestAt(`${back}/${name}`), image.descriptor.digest);
  const layout = await folder(t);
  await skopeo(`docker://${back}/${name}`, `oci:${layout}:v1`);
  const index = JSON.parse(await readFile(join(layout, "index.json"), "utf8")) as { manifests: { digest: string }[] };
  assert.equal(index.manifests[0]?.digest, image.descriptor.digest);
});

test("skopeo pushes to our registry and pulls from it with the token in a Docker config, and not without", async (t) => {
  const directory = await folder(t);
  const registry = await startRegistry({ directory, token: "token-for-skopeo" });
  t.after(() => registry.close());
  const { store, image } = await built(t);
  const archive = join(await folder(t), "function-x.xpkg");
  await writeArchive(store, image, createWriteStream(archive));
  const to = `docker://${registry.address}/acme/function-x:v1`;
  const config = join(directory, "config.json");
  const auth = Buffer.from(`${registryUser}:token-for-skopeo`).toString("base64");
  await writeFile(config, JSON.stringify({ auths: { [registry.address]: { auth } } }));
  const wrong = join(directory, "wrong.json");
  await writeFile(wrong, JSON.stringify({ auths: { [registry.address]: { auth: "cHVybGluOng=" } } }));
  for (const flags of [["--dest-no-creds"], ["--dest-authfile", wrong]]) {
    await assert.rejects(skopeo(`docker-archive:${archive}`, to, ...flags), /unauthorized|authentication required/i);
  }
  await skopeo(`docker-archive:${archive}`, to, "--dest-authfile", config);
  const layout = await folder(t);
  for (const flags of [["--src-no-creds"], ["--src-authfile", wrong]]) {
    await assert.rejects(skopeo(to, `oci:${layout}:v1`, ...flags), /unauthorized|authentication required/i);
  }
  await skopeo(to, `oci:${layout}:v1`, "--src-authfile", config);
  const { stdout } = await run("skopeo", [
    "list-tags",
    "--tls-verify=false",
    "--authfile",
    config,
    to.replace(":v1", ""),
  ]);
  assert.deepEqual((JSON.parse(stdout) as { Tags: string[] }).Tags, ["v1"]);
});

test("skopeo reads the files we write", async (t) => {
  const { store, image } = await built(t);
  const path = join(await folder(t), "function-x.xpkg");
  await writeArchive(store, image, createWriteStream(path));
  const { stdout } = await run("skopeo", ["inspect", "--config", `docker-archive:${path}`]);
  assert.deepEqual((JSON.parse(stdout) as { config: { Entrypoint: string[] } }).config.Entrypoint, ["/function"]);
  const address = await ours(t);
  await skopeo(`docker-archive:${path}`, `docker://${address}/acme/copied:v1`);
  const local = await openContentStore(await folder(t));
  const reference = parseReference(`${address}/acme/copied:v1`);
  const pulled = await pullImage(createRegistryClient(), local, { reference, options: { platform } });
  assert.equal(await readPackageText(pulled.manifest, local, "x"), packageYaml, "without the mark on its layer");
});

test("layers that skopeo compressed another way are unpacked", async (t) => {
  const [first, address] = [await ours(t), await ours(t)];
  const { store, image } = await built(t);
  const source = `${first}/acme/function-x:gzip`;
  await pushPackage(createRegistryClient(), store, { images: [image], to: parseReference(source) });
  // It compresses only what is not compressed yet, nor known to it in a compressed form at that registry.
  const plain = await folder(t);
  await skopeo(`docker://${source}`, `dir:${plain}`, "--dest-decompress");
  await skopeo(`dir:${plain}`, `docker://${address}/acme/function-x:zstd`, "--dest-compress-format", "zstd");
  const local = await openContentStore(await folder(t));
  const reference = parseReference(`${address}/acme/function-x:zstd`);
  const { manifest } = await pullImage(createRegistryClient(), local, { reference, options: { platform } });
  const root = await folder(t);
  for (const layer of manifest.layers) {
    const one = { mediaType: layer.mediaType, open: () => local.open(layer.digest), name: layer.digest };
    await unpackLayer(one, root, { bytes: 10_000_000, entries: 10 });
  }
  assert.equal((await readFile(join(root, "function"))).length, 2_000_000);
  assert.ok(
    manifest.layers.some(({ mediaType }) => mediaType.endsWith("zstd")),
    "skopeo did compress again",
  );
});
