// SPDX-License-Identifier: Apache-2.0
import { access, mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ContentStore } from "../oci/content-store.ts";
import { hexOf } from "../oci/digest.ts";
import type { ImageManifest } from "../oci/manifest.ts";
import { unpackLayer } from "./unpack-layer.ts";

/** Unpacked images, each under the digest of its manifest; several revisions may run from one. */
export interface ImageRoots {
  /** The folder of an image, unpacked unless it is there. */
  rootOf(image: { readonly manifest: ImageManifest; readonly manifestDigest: string }): Promise<string>;
  /** Removes all but the given images. */
  collect(keep: ReadonlySet<string>): Promise<void>;
}

/** What unpacking one image may use up. */
export interface UnpackLimits {
  readonly bytes: number;
  readonly entries: number;
}

const defaultLimits: UnpackLimits = { bytes: 4 * 1024 ** 3, entries: 500_000 };

/** Opens the folder of unpacked images. Folders in `mounts` are made in each, for whoever mounts something there. */
export function openImageRoots(
  directory: string,
  store: ContentStore,
  { mounts, limits = defaultLimits }: { readonly mounts: readonly string[]; readonly limits?: UnpackLimits },
): ImageRoots {
  const running = new Map<string, Promise<string>>();

  async function unpack(manifest: ImageManifest, root: string): Promise<string> {
    if (await isThere(root)) return root;
    await mkdir(directory, { recursive: true, mode: 0o700 });
    const draft = await mkdtemp(join(directory, "unpacking-"));
    try {
      const budget = { ...limits };
      for (const { digest, mediaType } of manifest.layers) {
        await unpackLayer({ mediaType, open: () => store.open(digest), name: `layer ${digest}` }, draft, budget);
      }
      for (const mount of mounts) await mkdir(join(draft, mount), { recursive: true });
      await rename(draft, root);
      return root;
    } catch (error) {
      await rm(draft, { recursive: true, force: true });
      throw error;
    }
  }

  return {
    rootOf({ manifest, manifestDigest }) {
      const root = join(directory, hexOf(manifestDigest));
      const same = running.get(root);
      if (same !== undefined) return same;
      const started = unpack(manifest, root).finally(() => running.delete(root));
      running.set(root, started);
      return started;
    },
    async collect(keep) {
      const names = await readdir(directory).catch(() => []);
      for (const name of names) {
        const isBusy = running.has(join(directory, name)) || (name.startsWith("unpacking-") && running.size > 0);
        if (isBusy || keep.has(`sha256:${name}`)) continue;
        await rm(join(directory, name), { recursive: true, force: true });
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
