// SPDX-License-Identifier: Apache-2.0
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { type ContentStore, openContentStore } from "../content/content-store.ts";
import { parseManifest } from "../content/manifest.ts";
import { createRegistryHandler, type RegistryState } from "./registry-handler.ts";
import { openRepositoryIndex, openUploads, type RepositoryIndex } from "./registry-storage.ts";

/** Where manifests are. */
export interface ManifestPlaces {
  readonly index: RepositoryIndex;
  readonly store: ContentStore;
}

/** What is left alone. */
interface Kept {
  /** Digests of manifests to keep with everything they reference, tagged or not. */
  readonly keep: readonly string[];
  /** So does what was pushed or used, or lost its tag, since then. */
  readonly sinceMs: number;
}

/** Options of {@link startRegistry}. */
interface RegistryOptions {
  readonly directory: string;
  /** 0 or absent: a free one. */
  readonly port?: number | undefined;
  readonly maxBlobBytes?: number | undefined;
  /** Required for every request, as the password of {@link registryUser} or as a bearer token. Without one every user of the machine may push and pull. */
  readonly token?: string | undefined;
  readonly onTag?: RegistryState["onTag"];
}

/** A registry that serves. */
export interface Registry {
  /** `127.0.0.1:<port>`: what references start with. */
  readonly address: string;
  readonly store: ContentStore;
  /** Everything that tags and manifests still need. */
  reachable(): Promise<Set<string>>;
  /**
   * Removes images that lost their last tag a week ago and were not pulled since, unless they are among those to keep, and what no
   * manifest needs, such as what pushes that were given up left behind. Says how many bytes that gave.
   */
  collect(keep?: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

/** A push sends its manifest last; what it sent before is left alone for this long. */
const pushLimitMs = 6 * 60 * 60_000;

/** How long a manifest can be pulled by its digest after its tag moved. */
const untaggedMs = 7 * 24 * 60 * 60_000;

const defaultMaxBlobBytes: number = 4 * 1024 ** 3;

/** Starts an OCI registry on loopback. */
export async function startRegistry(options: RegistryOptions): Promise<Registry> {
  const { directory, port = 0, maxBlobBytes = defaultMaxBlobBytes, token, onTag } = options;
  const store = await openContentStore(directory);
  const index = openRepositoryIndex(join(directory, "repositories"));
  const uploads = await openUploads(join(directory, "uploads"), { maxBytes: maxBlobBytes });
  const handle = createRegistryHandler({ store, index, uploads, token, onTag });
  const reachable = async (): Promise<Set<string>> => reachableFrom(store, await allManifests(index));
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
  });
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    store,
    reachable,
    async collect(keep = []) {
      await removeUnusedManifests({ index, store }, { keep, sinceMs: Date.now() - untaggedMs });
      return store.collect({ keep: await reachable(), maxBytes: 0, minAgeMs: pushLimitMs });
    },
    close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      return closed;
    },
  };
}

/** The digests of the manifests of all repositories. */
export async function allManifests(index: RepositoryIndex): Promise<string[]> {
  const repositories = await index.repositories();
  return (await Promise.all(repositories.map((repository) => index.manifests(repository)))).flat();
}

/**
 * Removes manifests that no tag and no other manifest leads to. A push is safe at any time: what it writes is new, and an index makes
 * its parts new before it is written.
 */
export async function removeUnusedManifests({ index, store }: ManifestPlaces, kept: Kept): Promise<void> {
  const needed = await reachableFrom(store, [...kept.keep, ...(await usedManifests(index, kept.sinceMs))]);
  for (const repository of await index.repositories()) {
    for (const digest of await index.manifests(repository)) {
      if (!needed.has(digest)) await index.removeUnused(repository, digest, kept.sinceMs);
    }
  }
}

/** Tags are read first: what loses one meanwhile is new when it is looked at. */
async function usedManifests(index: RepositoryIndex, sinceMs: number): Promise<string[]> {
  const used: string[] = [];
  for (const repository of await index.repositories()) {
    for (const name of (await index.tags(repository)) ?? []) {
      const digest = await index.tag(repository, name);
      if (digest !== undefined) used.push(digest);
    }
    for (const digest of await index.manifests(repository)) {
      if (await index.isUsedSince(repository, digest, sinceMs)) used.push(digest);
    }
  }
  return used;
}

/** Everything the given manifests need, themselves included: what a collector must leave. */
export async function reachableFrom(store: ContentStore, manifests: readonly string[]): Promise<Set<string>> {
  const reached = new Set<string>();
  const open = [...manifests];
  for (let digest = open.pop(); digest !== undefined; digest = open.pop()) {
    if (reached.has(digest)) continue;
    reached.add(digest);
    const manifest = await manifestAt(store, digest);
    if (manifest === undefined) continue;
    if (manifest.kind === "index") open.push(...manifest.index.manifests.map((part) => part.digest));
    else for (const part of [manifest.image.config, ...manifest.image.layers]) reached.add(part.digest);
  }
  return reached;
}

/** A missing blob, or one that is not a manifest, references nothing. */
async function manifestAt(store: ContentStore, digest: string): Promise<ReturnType<typeof parseManifest> | undefined> {
  if (!(await store.has(digest))) return undefined;
  const bytes = await store.read({ digest });
  try {
    return parseManifest(bytes, "", digest);
  } catch {
    return undefined;
  }
}
