// SPDX-License-Identifier: Apache-2.0
import { basename, dirname } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { extract } from "tar-stream";
import type { ContentStore } from "../oci/content-store.ts";
import type { Descriptor, ImageManifest } from "../oci/manifest.ts";
import { compressionOf } from "../oci/media-types.ts";
import { PackageError } from "./package-error.ts";
import { maxPackageBytes } from "./package-stream.ts";

/** The annotation that marks the layer with `package.yaml`. */
export const xpkgAnnotation = "io.crossplane.xpkg";
export const packageFile = "package.yaml";

/** The layers in which `package.yaml` is looked for, in order: the marked one, or all of them, uppermost first. */
export function packageLayers({ layers }: ImageManifest): readonly Descriptor[] {
  const marked = layers.find(({ annotations }) => annotations?.[xpkgAnnotation] === "base");
  return marked === undefined ? layers.toReversed() : [marked];
}

/** Finds `package.yaml` in an image whose layers are in the store. */
export async function readPackageText(image: ImageManifest, store: ContentStore, name: string): Promise<string> {
  const hidden = new Set<string>();
  for (const layer of packageLayers(image)) {
    const found = await findInLayer(layer, store, { hidden, name });
    if (found !== undefined) return found;
  }
  throw new PackageError(`${name} is no package: it has no ${packageFile}`);
}

interface Search {
  /** Files that a layer further up removed. */
  readonly hidden: Set<string>;
  readonly name: string;
}

async function findInLayer(layer: Descriptor, store: ContentStore, search: Search): Promise<string | undefined> {
  const tar = extract();
  const compression = compressionOf(layer.mediaType);
  const opened = compression === "gzip" ? [createGunzip()] : compression === "zstd" ? [createZstdDecompress()] : [];
  const reading = pipeline([store.open(layer.digest), ...opened, tar]);
  // Whether the rest could be read does not matter once the file is found.
  reading.catch(() => {});
  let found: string | undefined;
  for await (const entry of tar) {
    const file = basename(entry.header.name);
    if (file.startsWith(".wh.")) search.hidden.add(`${dirname(entry.header.name)}/${file.slice(4)}`);
    const isHidden = search.hidden.has(`${dirname(entry.header.name)}/${file}`);
    if (file === packageFile && entry.header.type === "file" && !isHidden) {
      found = await textOf(entry as AsyncIterable<Buffer>, search.name);
      break;
    }
    entry.resume();
  }
  if (found === undefined) await reading;
  return found;
}

async function textOf(entry: AsyncIterable<Buffer>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of entry) {
    size += chunk.length;
    if (size > maxPackageBytes) throw new PackageError(`${name}: ${packageFile} is larger than 200 MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}
