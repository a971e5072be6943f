// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { utimes } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { tempFolder } from "@purlin/base/testing/temp-folder";
import type { KubeObject } from "@purlin/kube-objects/object";
import { digestOf, hexOf, openImageRoots, reachableFrom } from "@purlin/oci";
import { type PackageCluster, startPackageCluster } from "../../test/package-cluster.ts";
import { collectImages, openImagePins, pinFetched } from "./image-pins.ts";
import type { PackageClient } from "./package-client.ts";

const [one, two] = [digestOf("1"), digestOf("2")];

test("pins survive a restart, and are removed by unpin", async () => {
  using folder = tempFolder();
  const file = join(folder.path, "images/pins.json");
  const pins = await openImagePins(file);
  await Promise.all([pins.set("a", one), pins.set("b", one), pins.set("b", two), pins.set("c", two)]);
  await pins.forget(["c", "never there"]);
  const again = await openImagePins(file);
  assert.deepEqual(again.references().toSorted(), ["a", "b"]);
  assert.deepEqual([again.get("a"), again.get("b"), again.get("c")], [one, two, undefined]);
  assert.deepEqual(readdirSync(join(folder.path, "images")), ["pins.json"]);
});

const damaged: Record<string, { text: string; reason: string }> = {
  Cut: { text: '{"a": "sha2', reason: "the disk was full" },
  NotOurs: { text: '["a"]', reason: "a user edited it" },
  NoDigest: { text: '{"a": "../../etc/passwd", "b": 3}', reason: "no digest reaches a path" },
};
for (const [name, { text, reason }] of Object.entries(damaged)) {
  test(`damaged pins are empty: ${name}`, async () => {
    using folder = tempFolder();
    const pins = await openImagePins(folder.write("pins.json", text));
    assert.equal(pins.get("a"), undefined, reason);
    await pins.set("a", one);
    assert.equal((await openImagePins(join(folder.path, "pins.json"))).get("a"), one);
  });
}

test("what is fetched is pinned before it is", async () => {
  using folder = tempFolder();
  const pins = await openImagePins(join(folder.path, "pins.json"));
  const seen: (string | undefined)[] = [];
  const look = async (_: unknown, { reference }: { reference: string }): Promise<never> => {
    seen.push(pins.get(reference));
    return undefined as never;
  };
  const client = pinFetched({ contents: look, image: look } as unknown as PackageClient, pins);
  const request = (reference: string): never => ({ reference, pullSecrets: [], pullPolicy: "Always" }) as never;
  await client.contents({ digest: one } as never, request("a"));
  await client.image({ digest: two } as never, request("a"), { os: "linux", architecture: "amd64" });
  assert.deepEqual(seen, [one, two]);
});

const platform = { os: "linux", architecture: "amd64" };
const packageYaml = (name: string): string =>
  `apiVersion: meta.pkg.crossplane.io/v1\nkind: Function\nmetadata: {name: ${name}}\n`;

function revision(name: string, image: string, desiredState: string): KubeObject {
  const labels = { "pkg.crossplane.io/package": "fn" };
  const spec = { image, desiredState, revision: 1, packagePullPolicy: "IfNotPresent" };
  return { apiVersion: "pkg.crossplane.io/v1", kind: "FunctionRevision", metadata: { name, labels }, spec };
}

/** As if everything had been fetched long ago. */
async function age(on: PackageCluster, digests: Iterable<string>): Promise<void> {
  const old = new Date(Date.now() - 3_600_000);
  for (const digest of digests) await utimes(on.store.pathOf(digest), old, old).catch(() => {});
}

test("images of revisions that exist stay, unpacked ones of active revisions, and the rest goes", async () => {
  await using on = await startPackageCluster();
  using folder = tempFolder();
  const file = join(folder.path, "pins.json");
  const pins = await openImagePins(file);
  const roots = openImageRoots(join(folder.path, "roots"), on.store, { mounts: [] });
  const packages = pinFetched(on.deps.packages, pins);
  const images = new Map<string, { top: string; root: string }>();
  for (const name of ["active", "inactive", "gone"]) {
    await on.push(`acme/${name}:v1`, packageYaml(name));
    const request = {
      reference: `${on.registry}/acme/${name}:v1`,
      pullSecrets: [],
      pullPolicy: "IfNotPresent" as const,
    };
    const image = await packages.image(await packages.resolve(request), request, platform);
    images.set(name, { top: image.digest, root: await roots.rootOf(image) });
  }
  await on.kube.create(revision("fn-1", `${on.registry}/acme/active:v1`, "Active"));
  await on.kube.create(revision("fn-2", `${on.registry}/acme/inactive:v1`, "Inactive"));
  const blobs = async (name: string): Promise<Set<string>> => reachableFrom(on.store, [images.get(name)?.top ?? ""]);
  const all = { active: await blobs("active"), inactive: await blobs("inactive"), gone: await blobs("gone") };
  await age(
    on,
    Object.values(all).flatMap((one) => [...one]),
  );
  // After a restart the pins are read from disk.
  const client = on.client;
  const collection = {
    client,
    store: on.store,
    pins: await openImagePins(file),
    unpacked: {
      roots: openImageRoots(join(folder.path, "roots"), on.store, { mounts: [] }),
      used: () => new Set<string>(),
    },
    maxBytes: 0,
    minAgeMs: 60_000,
  };
  const found = await collectImages(collection);
  assert.deepEqual(found.map(({ metadata }) => metadata.name).toSorted(), ["fn-1", "fn-2"]);
  assert.deepEqual(readdirSync(join(folder.path, "roots")), [rootName(images, "active")]);
  const has = (digests: Set<string>): Promise<boolean[]> => Promise.all([...digests].map((one) => on.store.has(one)));
  assert.ok((await has(all.active)).every(Boolean));
  assert.ok((await has(all.inactive)).every(Boolean), "it may be activated again, without a registry");
  assert.deepEqual(await on.store.has(images.get("gone")?.top ?? ""), false);
  assert.deepEqual(collection.pins.references().length, 2);
});

function rootName(images: ReadonlyMap<string, { root: string }>, name: string): string {
  return images.get(name)?.root.split("/").at(-1) ?? "";
}

test("nothing is collected when the revisions are not known, nor what something still runs from", async () => {
  await using on = await startPackageCluster();
  using folder = tempFolder();
  const pins = await openImagePins(join(folder.path, "pins.json"));
  const directory = join(folder.path, "roots");
  const roots = openImageRoots(directory, on.store, { mounts: [] });
  await on.push("acme/fn:v1", packageYaml("fn"));
  const request = { reference: `${on.registry}/acme/fn:v1`, pullSecrets: [], pullPolicy: "IfNotPresent" as const };
  const packages = pinFetched(on.deps.packages, pins);
  const image = await packages.image(await packages.resolve(request), request, platform);
  const root = await roots.rootOf(image);
  const unpacked = { roots: openImageRoots(directory, on.store, { mounts: [] }), used: () => new Set([root]) };
  const collection = { client: on.client, store: on.store, pins, unpacked, maxBytes: 0, minAgeMs: 0 };
  await collectImages(collection);
  assert.deepEqual(readdirSync(directory), [hexOf(image.manifestDigest)], "a process that is about to end runs there");
  const failing = { ...on.client, list: () => Promise.reject(new Error("no API server")) };
  const unused = { ...unpacked, used: () => new Set<string>() };
  await assert.rejects(collectImages({ ...collection, client: failing, unpacked: unused }), /no API server/);
  assert.deepEqual(readdirSync(directory), [hexOf(image.manifestDigest)]);
});
