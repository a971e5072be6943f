// SPDX-License-Identifier: Apache-2.0
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { ControllerClient } from "@purlin/kube-controller";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { type ContentStore, type ImageRoots, isDigest, reachableFrom } from "@purlin/oci";
import { packageTypes } from "../package-kinds.ts";
import type { PackageClient } from "./package-client.ts";
import { type PinName, pinNameOf, referenceOfRevision } from "./package-request.ts";

/**
 * The digest of each reference when it was last fetched, and the digest of each package and revision. The collector needs them, also
 * after a restart; and after a restart no registry decides again what runs.
 */
interface ImagePins {
  get(reference: string): string | undefined;
  /** Durable when it resolves. */
  set(reference: string, digest: string): Promise<void>;
  references(): readonly string[];
  forget(references: readonly string[]): Promise<void>;
}

/** Opens the pins in a file. A damaged file counts as empty; images are fetched again when needed. */
export async function openImagePins(file: string): Promise<ImagePins> {
  const pins = readPins(await readFile(file, "utf8").catch(() => "{}"));
  let written: Promise<void> = Promise.resolve();
  const write = async (): Promise<void> => {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.new`, JSON.stringify(Object.fromEntries(pins)), { mode: 0o600, flush: true });
    await rename(`${file}.new`, file);
  };
  /** One after the other; a failed one does not keep the next from being tried. */
  const save = (): Promise<void> => {
    written = written.catch(() => {}).then(write);
    return written;
  };
  return {
    get: (reference) => pins.get(reference),
    async set(reference, digest) {
      if (pins.get(reference) === digest) return written;
      pins.set(reference, digest);
      return save();
    },
    references: () => [...pins.keys()],
    async forget(references) {
      for (const reference of references) pins.delete(reference);
      if (references.length > 0) await save();
    },
  };
}

function readPins(text: string): Map<string, string> {
  try {
    const entries = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return new Map(entries.flatMap(([name, digest]) => (isDigest(String(digest)) ? [[name, String(digest)]] : [])));
  } catch {
    return new Map();
  }
}

/**
 * Pins an image before it is fetched, so that it is not collected meanwhile. A revision is resolved once for ever, a package once
 * for each change of it unless its policy is Always: a registry that begins to serve another image under a tag changes nothing.
 */
export function pinFetched(client: PackageClient, pins: ImagePins): PackageClient {
  const note = async (pin: PinName | undefined, resolved: string, digest: string): Promise<void> => {
    if (pin !== undefined) await pins.set(keyOf(pin, resolved), digest);
  };
  return {
    ...client,
    resolve(request) {
      const { pin, pullPolicy } = request;
      if (pin === undefined || (!pin.isRevision && pullPolicy === "Always")) return client.resolve(request);
      return client.resolve({ ...request, pinned: (resolved) => pins.get(keyOf(pin, resolved)) });
    },
    async contents(resolved, request) {
      await pins.set(request.reference, resolved.digest);
      const contents = await client.contents(resolved, request);
      // Only an image that could be read: a broken package may be pushed again under the same tag.
      await note(request.pin, resolved.resolved, resolved.digest);
      return contents;
    },
    async image(resolved, request, platform) {
      await pins.set(request.reference, resolved.digest);
      return client.image(resolved, request, platform);
    },
    pin: (name, digest) => pins.set(name, digest),
  };
}

/** An ImageConfig that rewrites a package's reference in another way has it looked up again. */
function keyOf({ name, isRevision }: PinName, resolved: string): string {
  return isRevision ? name : `${name} ${resolved}`;
}

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
 * Removes images that no revision needs, and unpacked ones of which none is active and nothing runs. Nothing is removed unless all
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
