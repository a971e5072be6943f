// SPDX-License-Identifier: Apache-2.0
import { basename } from "node:path";
import { Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { textOf } from "@purlin/kube-objects/errors";
import type { Extract } from "tar-stream";
import type { ContentStore } from "../content/content-store.ts";
import { compressionOf, type Descriptor, type ImageManifest } from "../content/manifest.ts";
import { createTarReader } from "../image/layer-archive.ts";
import { maxPackageBytes } from "./package-contents.ts";
import { isPackageError, PackageError } from "./package-meta.ts";

/** What the name of a file begins with that removes another one. */
const whiteout = ".wh.";

const opaque = ".wh..wh..opq";

/** Paths that layers removed from those below them. */
interface HiddenPaths {
  /** Notes a whiteout: the path of a file of that name. */
  add(path: string): void;
  /** Whether a path of a lower layer is gone, by itself or with a folder it is in. */
  has(path: string): boolean;
}

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
  const layers = packageLayers(image);
  const search: Search = {
    name,
    hidden: createHiddenPaths(),
    bytes: layers.length === 1 ? markedBytes : searchedBytes,
    entries: searchedEntries,
  };
  for (const layer of layers) {
    const found = await findInLayer(layer, store, search);
    if (found !== undefined) return found;
  }
  throw new PackageError(`${name} is not a package: it has no ${packageFile}`);
}

/** A layer marked as the package contains little else. */
const markedBytes = maxPackageBytes + 64 * 1024 * 1024;
/** An image as large as those that are run. */
const searchedBytes = 4 * 1024 ** 3;
/** Empty files compress to next to nothing, and those that remove others are remembered. */
const searchedEntries = 500_000;

interface Search {
  readonly name: string;
  /** What layers further up removed. */
  readonly hidden: HiddenPaths;
  /** How much may be unpacked on the way. */
  bytes: number;
  entries: number;
}

async function findInLayer(layer: Descriptor, store: ContentStore, search: Search): Promise<string | undefined> {
  const tar = createTarReader();
  const compression = compressionOf(layer.mediaType);
  const opened = compression === "gzip" ? [createGunzip()] : compression === "zstd" ? [createZstdDecompress()] : [];
  const reading = pipeline([store.open(layer.digest), ...opened, counting(search), tar]);
  // Whether the rest could be read does not matter once the file is found.
  reading.catch(() => {});
  try {
    const found = await findInTar(tar, search);
    if (found === undefined) await reading;
    return found;
  } catch (error) {
    if (isPackageError(error)) throw error;
    throw new PackageError(`${search.name}: layer ${layer.digest} cannot be read: ${textOf(error)}`, { cause: error });
  }
}

async function findInTar(tar: Extract, search: Search): Promise<string | undefined> {
  const { hidden, name } = search;
  const removed: string[] = [];
  for await (const entry of tar) {
    if (--search.entries < 0) throw new PackageError(`${name}: its layers have more files than are allowed`);
    const { name: path, type } = entry.header;
    if (basename(path).startsWith(whiteout)) removed.push(path);
    else if (basename(path) === packageFile && type === "file" && !hidden.has(path)) {
      // Awaited here: leaving the loop destroys the stream that is being read.
      return await readEntry(entry as AsyncIterable<Buffer>, name);
    }
    entry.resume();
  }
  // What a layer removes, it removes from those below; its own files stay.
  for (const path of removed) hidden.add(path);
  return undefined;
}

function counting(search: Search): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      search.bytes -= chunk.length;
      const problem = `${search.name}: its layers unpack to more than is allowed`;
      done(search.bytes < 0 ? new PackageError(problem) : null, chunk);
    },
  });
}

async function readEntry(entry: AsyncIterable<Buffer>, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of entry) {
    size += chunk.length;
    if (size > maxPackageBytes) throw new PackageError(`${name}: ${packageFile} is larger than 200 MiB`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Starts without any. */
export function createHiddenPaths(): HiddenPaths {
  const removed = new Set<string>();
  const cleared = new Set<string>();
  return {
    add(path) {
      const parts = partsOf(path);
      const name = parts.pop() ?? "";
      if (name === opaque) cleared.add(parts.join("/"));
      else removed.add([...parts, name.slice(whiteout.length)].join("/"));
    },
    has(path) {
      const parts = partsOf(path);
      for (let depth = 0; depth <= parts.length; depth++) {
        const above = parts.slice(0, depth).join("/");
        if (removed.has(above) || (depth < parts.length && cleared.has(above))) return true;
      }
      return false;
    },
  };
}

function partsOf(path: string): string[] {
  return path.split("/").filter((part) => part !== "" && part !== ".");
}
