// SPDX-License-Identifier: Apache-2.0
import type { ContentStore } from "../content/content-store.ts";
import { reachableFrom } from "./reachable.ts";
import type { RepositoryIndex } from "./repository-index.ts";

/** Where manifests are. */
export interface ManifestPlaces {
  readonly index: RepositoryIndex;
  readonly store: ContentStore;
}

/** What is left alone. */
export interface Kept {
  /** Digests of manifests that stay with all they need, whoever points to them. */
  readonly keep: readonly string[];
  /** So does what was pushed or used, or lost its tag, since then. */
  readonly sinceMs: number;
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
