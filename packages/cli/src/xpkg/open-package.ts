// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import {
  type Descriptor,
  formatReference,
  type ImageManifest,
  type ImageReference,
  isImageReferenceError,
  type Platform,
  packageLayers,
  parseImageConfig,
  parseReference,
  platformText,
  pullImage,
  readArchive,
} from "@purlin/oci";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import type { Workspace } from "./xpkg-workspace.ts";

/** An image whose configuration is in the store. */
export interface OpenedImage {
  /** That of the index where there is one. */
  readonly digest: string;
  readonly manifestDigest: string;
  readonly manifest: ImageManifest;
  /** All that are to be had. */
  readonly platforms: readonly string[];
}

/** What of an image in a registry is wanted. */
interface OpenOptions {
  readonly platform: Platform | undefined;
  readonly workspace: Workspace;
  /** True: only what `package.yaml` needs. */
  readonly onlyPackage?: boolean;
}

/** Opens a package from a file, or else from a registry. */
export async function openFileOrImage(name: string, io: Io, options: OpenOptions): Promise<OpenedImage> {
  const { store } = options.workspace;
  if (!existsSync(resolve(io.cwd, name))) return openImage(referenceOf(name), io, options);
  const { descriptor, manifest } = await readArchive(store, resolve(io.cwd, name), name);
  const config = parseImageConfig(await store.read(manifest.config), name);
  return { digest: descriptor.digest, manifestDigest: descriptor.digest, manifest, platforms: [platformText(config)] };
}

function referenceOf(name: string): ImageReference {
  try {
    return parseReference(name);
  } catch (error) {
    if (!isImageReferenceError(error)) throw error;
    throw new UserError(`there is no file ${name}, and ${textOf(error)}`, { cause: error });
  }
}

/** Fetches a package. Without a platform, the one that packages are read from, or the first. */
export async function openImage(reference: ImageReference, io: Io, options: OpenOptions): Promise<OpenedImage> {
  const { client, store } = options.workspace;
  const top = await client.manifest(reference, { signal: io.signal });
  const offered = top.manifest.kind === "index" ? top.manifest.index.manifests.flatMap(platformOf) : [];
  const platform = options.platform ?? usualPlatform(offered);
  // What was found is what is fetched, even when the tag moves meanwhile.
  const pinned = { ...reference, digest: top.descriptor.digest };
  const { digest, manifest, manifestDigest } = await pullImage(client, store, {
    reference: pinned,
    options: { platform, signal: io.signal, ...(options.onlyPackage && { layers: packageLayers }) },
  });
  const config = parseImageConfig(await store.read(manifest.config), formatReference(reference));
  const platforms = offered.length === 0 ? [config] : offered;
  return { digest, manifestDigest, manifest, platforms: platforms.map(platformText) };
}

/** Attestations are listed as images for nothing known. */
function platformOf({ platform }: Descriptor): Platform[] {
  return platform === undefined || platform.os === "unknown" ? [] : [platform];
}

function usualPlatform(offered: readonly Platform[]): Platform {
  const usual = { os: "linux", architecture: "amd64" };
  const isOffered = offered.some(({ os, architecture }) => os === usual.os && architecture === usual.architecture);
  return isOffered ? usual : (offered[0] ?? usual);
}
