// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { type ContentStore, type ImageRoots, isDigest, reachableFrom } from "@purlin/oci";
import { packageTypes } from "../package-kinds.ts";
import type { ImagePins } from "./image-pins.ts";
import { pinNameOf, referenceOfRevision } from "./package-request.ts";

/** The dependencies and limits of a collection. */
interface ImageCollection {
  readonly client: ControllerClient;
  readonly store: ContentStore;
  readonly pins: ImagePins;
  /** Where images are run from here: the unpacked ones, and those that something runs from. */
  readonly unpacked?: { readonly roots: ImageRoots; readonly used: () => ReadonlySet<string> } | undefined;
  /** Images that no revision needs are kept for later while all together take no more than this. */
  readonly maxBytes: number;
  /** Images that were used since then are kept. */
  readonly minAgeMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Removes images that no revision needs any more, and unpacked ones of which none is active and nothing runs. Nothing is removed unless all
 * revisions are known. Resolves to all revisions.
 */
export async function collectImages(collection: ImageCollection): Promise<readonly KubeObject[]> {
  const { client, store, pins, unpacked, maxBytes, minAgeMs, signal } = collection;
  // Taken before the lists, which cannot know a revision that is made while they are read.
  const pinned = pins.references();
  const types = Object.values(packageTypes);
  const lists = types.map((type) => client.list(type.revision, { signal }));
  const revisions = (await Promise.all(lists)).flat();
  const digestsOf = (some: readonly KubeObject[]): string[] => [...new Set(some.flatMap((one) => imagesOf(one, pins)))];
  const isActive = (one: KubeObject): boolean => textAt(one, ["spec", "desiredState"]) === "Active";
  const active = await reachableFrom(store, digestsOf(revisions.filter(isActive)));
  const needed = await reachableFrom(store, digestsOf(revisions));
  await unpacked?.roots.collect({ keep: active, used: unpacked.used(), minAgeMs });
  await store.collect({ keep: needed, maxBytes, minAgeMs });
  const packages = (await Promise.all(types.map((type) => client.list(type.package, { signal })))).flat();
  const known = new Set([...revisions, ...packages].map((one) => pinNameOf(one).name));
  for (const revision of revisions) known.add(referenceOfRevision(revision));
  // What is pinned for a package has its reference behind the name.
  await pins.forget(pinned.filter((key) => !known.has(key.split(" ", 1)[0] ?? "")));
  return revisions;
}

function imagesOf(revision: KubeObject, pins: ImagePins): string[] {
  const named = textAt(revision, ["spec", "digest"]);
  const pinned = [pins.get(referenceOfRevision(revision)), pins.get(pinNameOf(revision).name)];
  return [named, ...pinned].filter((digest) => digest !== undefined);
}

/** The digests of images that package revisions name, active or not: their registry may be asked for them at any time. */
export async function digestsOfRevisions(
  client: Pick<ControllerClient, "list">,
  signal?: AbortSignal,
): Promise<readonly string[]> {
  const lists = Object.values(packageTypes).map((type) => client.list(type.revision, { signal }));
  const revisions = (await Promise.all(lists)).flat();
  const named = revisions.flatMap((one) => [
    textAt(one, ["spec", "digest"]) ?? "",
    referenceOfRevision(one).split("@").at(-1) ?? "",
  ]);
  return [...new Set(named.filter(isDigest))];
}
