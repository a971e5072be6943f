// SPDX-License-Identifier: Apache-2.0
import { access, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ContentStore } from "../content/content-store.ts";
import { hexOf, type ImageManifest } from "../content/manifest.ts";
import { makeMountPoint, unpackLayer } from "./unpack-layer.ts";

/** Unpacked images, each under the digest of its manifest; several revisions may run from one. */
export interface ImageRoots {
  /** The folder of an image, unpacked unless it is there. */
  rootOf(image: { readonly manifest: ImageManifest; readonly manifestDigest: string }): Promise<string>;
  /** Removes all but the given images, what is unpacked or was asked for lately, and what something runs from. */
  collect(options: RootCollection): Promise<void>;
}

/** What must stay. */
export interface RootCollection {
  /** Digests of manifests. */
  readonly keep: ReadonlySet<string>;
  /** Folders that something runs from. */
  readonly used: ReadonlySet<string>;
  /** Folders requested more recently than this are kept: their function may not have started yet. */
  readonly minAgeMs: number;
}

/** What unpacking one image may use up. */
interface UnpackLimits {
  readonly bytes: number;
  readonly entries: number;
}

/** Folders that are not whole: an image that is being unpacked, or removed. */
const draftPrefix = "unpacking-";

const defaultLimits: UnpackLimits = { bytes: 4 * 1024 ** 3, entries: 500_000 };

/** Opens the folder of unpacked images. Folders in `mounts` are created in each, as mount points. */
export function openImageRoots(
  directory: string,
  store: ContentStore,
  { mounts, limits = defaultLimits }: { readonly mounts: readonly string[]; readonly limits?: UnpackLimits },
): ImageRoots {
  const running = new Map<string, Promise<string>>();
  /** Folders that are being removed, by name: a caller that needs one meanwhile gets a new one. */
  const removing = new Map<string, Promise<void>>();
  const askedFor = new Map<string, number>();

  async function unpack(manifest: ImageManifest, root: string): Promise<string> {
    await removing.get(root);
    if (await isThere(root)) return root;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const draft = await mkdtemp(join(directory, draftPrefix));
    try {
      const budget = { ...limits };
      for (const { digest, mediaType } of manifest.layers) {
        await unpackLayer({ mediaType, open: () => store.open(digest), name: `layer ${digest}` }, draft, budget);
      }
      for (const mount of mounts) await makeMountPoint(draft, mount);
      await rename(draft, root);
      return root;
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
  }

  async function remove(root: string): Promise<void> {
    const name = basename(root);
    const isWhole = !name.startsWith(draftPrefix);
    const going = isWhole ? join(directory, `${draftPrefix}${name}`) : root;
    // Also what is left there from a removal that a crash ended, which would be in the way.
    await rm(going, { recursive: true, force: true });
    if (!isWhole) return;
    // Moved first: half a folder must not be taken for an image after a crash.
    await rename(root, going);
    await rm(going, { recursive: true, force: true });
  }

  return {
    rootOf({ manifest, manifestDigest }) {
      const root = join(directory, hexOf(manifestDigest));
      askedFor.set(root, Date.now());
      const same = running.get(root);
      if (same !== undefined) return same;
      const started = unpack(manifest, root).finally(() => running.delete(root));
      running.set(root, started);
      return started;
    },
    async collect({ keep, used, minAgeMs }) {
      const isRecent = (root: string): boolean =>
        Date.now() - (askedFor.get(root) ?? Number.NEGATIVE_INFINITY) < minAgeMs;
      for (const root of askedFor.keys()) if (!isRecent(root)) askedFor.delete(root);
      for (const name of await readdir(directory).catch(() => [])) {
        const root = join(directory, name);
        const isDraft = name.startsWith(draftPrefix) && running.size > 0;
        if (isDraft || running.has(root) || keep.has(`sha256:${name}`) || used.has(root) || isRecent(root)) continue;
        const gone = remove(root).finally(() => removing.delete(root));
        // Nothing was awaited since the checks above, so it cannot have been requested in between.
        removing.set(
          root,
          gone.catch(() => {}),
        );
        await gone;
      }
    },
  };
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
