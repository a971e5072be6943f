// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { JsonObject } from "@purlin/kube-objects/json";
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
    throw new UserError(`no such file ${name}, and ${textOf(error)}`, { cause: error });
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

/** The default file name of a package: it identifies the content. */
export function defaultFile(name: string, digest: string): string {
  return `${name}-${digest.slice("sha256:".length, "sha256:".length + 12)}.xpkg`;
}

/** A path that can be typed again. */
export function displayName(path: string): string {
  return /^[\w./@%+=:-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
}

/** How many objects of each kind, such as `2 Composition, 1 CompositeResourceDefinition`. */
export function kindCounts(objects: readonly JsonObject[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of objects) counts.set(String(kind), (counts.get(String(kind)) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ");
}

/** A size that people can read. */
export function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
