// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { type TempFolder, tempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { ContentStore, Platform } from "@purlin/oci";
import {
  buildImage,
  createRegistryClient,
  fileEntry,
  openContentStore,
  type PackageImageParts,
  parseReference,
  pushPackage,
  type Registry,
  runtimeLabel,
  startRegistry,
} from "@purlin/oci";
import { createPackageClient, type PackageClient } from "./package-client.ts";
import type { PackageRequest } from "./package-request.ts";

const amd: Platform = { os: "linux", architecture: "amd64" };
const arm: Platform = { os: "linux", architecture: "arm64" };
const process = { entrypoint: ["/function"], cmd: [], env: [], workingDir: "/", user: "2000" };
const meta = "apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: function-x}\n";

suite("the package client", () => {
  let folder: TempFolder;
  let registry: Registry;
  let made = 0;
  before(async () => {
    folder = tempFolder();
    registry = await startRegistry({ directory: `${folder.path}/registry` });
  });
  after(async () => {
    await registry.close();
    folder[Symbol.dispose]();
  });

  /** A client with a store of its own, and the ImageConfigs there are. */
  async function open(
    configs: KubeObject[] = [],
  ): Promise<{ client: PackageClient; store: ContentStore; path: string }> {
    const path = `${folder.path}/store${++made}`;
    const store = await openContentStore(path);
    const kube = { list: async () => configs, get: async () => undefined } as never;
    const registryClient = createRegistryClient({ sleep: async () => {} });
    const options = { client: kube, store, namespace: "crossplane-system", registryClient: () => registryClient };
    return { client: createPackageClient(options), store, path };
  }

  /** Pushes an image for each of some platforms; returns the reference. */
  async function push(name: string, platforms: Platform[], parts: Partial<PackageImageParts> = {}): Promise<string> {
    const store = await openContentStore(`${folder.path}/build`);
    const images = [];
    for (const platform of platforms) {
      const layers = [[fileEntry("function", randomBytes(1000), 0o755)]];
      images.push(await buildImage(store, { platform, process, base: [], layers, packageYaml: meta, ...parts }));
    }
    const reference = `${registry.address}/acme/${name}:v1`;
    await pushPackage(createRegistryClient(), store, { images, to: parseReference(reference) });
    return reference;
  }

  const request = (reference: string, more: Partial<PackageRequest> = {}): PackageRequest => ({
    reference,
    pullSecrets: [],
    pullPolicy: "IfNotPresent",
    ...more,
  });

  test("a tag is looked up each time; contents are read without what runs", async () => {
    const reference = await push("one", [amd]);
    const { client, store } = await open();
    const resolved = await client.resolve(request(reference));
    assert.equal(resolved.resolved, reference);
    const { meta: read } = await client.contents(resolved, request(reference));
    assert.equal(read.name, "function-x");
    const image = await client.image(resolved, request(reference), amd);
    const [runtime] = image.manifest.layers;
    assert.equal(await store.has(runtime?.digest ?? ""), true);
    await push("one", [amd]);
    assert.notEqual((await client.resolve(request(reference))).digest, resolved.digest);
  });

  test("without secrets one client of registries serves all; with them each time has one of its own", async () => {
    const store = await openContentStore(`${folder.path}/store${++made}`);
    const secret = { data: { ".dockerconfigjson": Buffer.from('{"auths":{}}').toString("base64") } };
    const kube = { list: async () => [], get: async () => secret } as never;
    let clients = 0;
    const registryClient = (): ReturnType<typeof createRegistryClient> => {
      clients++;
      return createRegistryClient();
    };
    const client = createPackageClient({ client: kube, store, namespace: "crossplane-system", registryClient });
    const reference = await push("clients", [amd]);
    for (let time = 0; time < 3; time++) await client.resolve(request(reference));
    assert.equal(clients, 1);
    for (let time = 0; time < 2; time++) await client.resolve(request(reference, { pullSecrets: ["one"] }));
    assert.equal(clients, 3, "secrets may change");
  });

  test("contents are remembered, and read again only where always pulled", async () => {
    const reference = await push("two", [amd]);
    const { client, path } = await open();
    const resolved = await client.resolve(request(reference));
    const first = await client.contents(resolved, request(reference));
    await rm(path, { recursive: true, force: true });
    assert.equal(await client.contents(resolved, request(reference)), first);
    await assert.rejects(client.contents(resolved, request(reference, { pullPolicy: "Always" })));
  });

  test("Never takes what is there, and nothing else", async () => {
    const reference = await push("three", [amd]);
    const { client } = await open();
    const resolved = await client.resolve(request(reference));
    const never = request(reference, { pullPolicy: "Never" });
    await assert.rejects(client.contents(resolved, never), {
      message: "package not in cache and pull policy is Never",
    });
    await assert.rejects(client.image(resolved, never, amd), /package not in cache/);
    await client.image(resolved, request(reference), amd);
    assert.equal((await client.contents(resolved, never)).meta.kind, "Function");
  });

  const platforms: {
    why: string;
    of: Platform[];
    parts?: Partial<PackageImageParts>;
    wanted: Platform;
    says?: RegExp;
  }[] = [
    { why: "the one of several that runs here", of: [amd, arm], wanted: arm },
    {
      why: "none of several",
      of: [amd, arm],
      wanted: { os: "linux", architecture: "mips" },
      says: /has no image for linux\/mips, only for linux\/amd64, linux\/arm64; push one/,
    },
    { why: "a single one that runs here", of: [arm], wanted: arm },
    {
      why: "a single one for another machine",
      of: [arm],
      wanted: amd,
      says: /\/acme\/platform4:v1 is for linux\/arm64, and this machine is linux\/amd64; push one for that platform$/,
    },
    {
      why: "one that runs on Purlin's own Node runs anywhere",
      of: [amd],
      parts: { labels: { [runtimeLabel]: "node" } },
      wanted: { os: "darwin", architecture: "arm64" },
    },
    { why: "an image without metadata", of: [{ os: "", architecture: "" }], wanted: amd },
  ];
  for (const [at, { why, of, parts, wanted, says }] of platforms.entries()) {
    test(`the platform of an image: ${why}`, async () => {
      const reference = await push(`platform${at + 1}`, of, parts);
      const { client } = await open();
      const resolved = await client.resolve(request(reference));
      assert.equal(
        (await client.contents(resolved, request(reference))).meta.name,
        "function-x",
        "its contents are read anywhere",
      );
      const image = client.image(resolved, request(reference), wanted);
      if (says === undefined) return assert.ok((await image).manifest);
      await assert.rejects(
        image,
        (error: Error & { code?: string }) => error.code === "WRONG_PLATFORM" && says.test(error.message),
      );
    });
  }

  const config = (name: string, spec: object): KubeObject =>
    ({ apiVersion: "pkg.crossplane.io/v1beta1", kind: "ImageConfig", metadata: { name }, spec }) as KubeObject;

  test("a rewrite decides where a package, and the tags of a dependency, come from", async () => {
    await push("mirrored", [amd]);
    const matchImages = [{ type: "Prefix", prefix: "registry.example.org/upstream/" }];
    const { client } = await open([
      config("mirror", { matchImages, rewriteImage: { prefix: `${registry.address}/acme/` } }),
    ]);
    const resolved = await client.resolve(request("registry.example.org/upstream/mirrored:v1"));
    assert.equal(resolved.resolved, `${registry.address}/acme/mirrored:v1`);
    assert.deepEqual(resolved.applied, [{ name: "mirror", reason: "RewriteImage" }]);
    const source = "registry.example.org/upstream/mirrored";
    assert.deepEqual(await client.tags(source, { pullSecrets: [], pullPolicy: "IfNotPresent" }), ["v1"]);
  });

  test("the pull secret of an ImageConfig is required, and named when it is missing", async () => {
    const reference = await push("secret", [amd]);
    const matchImages = [{ type: "Prefix", prefix: registry.address }];
    const authentication = { pullSecretRef: { name: "from-config" } };
    const { client } = await open([config("auth", { matchImages, registry: { authentication } })]);
    await assert.rejects(client.resolve(request(reference)), /Secret "from-config" not found in crossplane-system/);
  });

  test("an artifact that is not an image, or not a package, is reported by the name the user gave", async () => {
    const { client } = await open();
    await assert.rejects(client.resolve(request("not an image")), /"not an image" names no image/);
    await assert.rejects(
      client.resolve(request(`${registry.address}/acme/none:v1`)),
      /cannot read .*none:v1: .* answers 404/,
    );
    const reference = await push("broken", [amd], { packageYaml: "kind: [" });
    const resolved = await client.resolve(request(reference));
    await assert.rejects(
      client.contents(resolved, request(reference)),
      new RegExp(`^PackageError: ${reference}: package\\.yaml:\\d: invalid YAML`),
    );
  });
});
