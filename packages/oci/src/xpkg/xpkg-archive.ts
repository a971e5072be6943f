// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdtemp, open, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { textOf } from "@purlin/kube-objects/errors";
import { isUnreadableFile, openRegularFile } from "@purlin/kube-objects/files";
import { pack } from "tar-stream";
import type { ContentStore } from "../content/content-store.ts";
import { type Descriptor, digestOf, hexOf, mediaTypes, parseImageConfig } from "../content/manifest.ts";
import { createTarReader } from "../image/layer-archive.ts";
import type { BuiltImage } from "./package-image.ts";
import { PackageError } from "./package-meta.ts";
import { xpkgAnnotation } from "./read-package.ts";

const maxConfigBytes = 4 * 1024 * 1024;
/** As much as an image may unpack to. */
const maxArchiveBytes = 4 * 1024 ** 3;
/** More than any image has layers. */
const maxFiles = 4096;

/**
 * Writes an image to a stream and ends it, in the layout of `docker save`: what `.xpkg` files are. The annotations of layers have no place
 * there; labels of the configuration bring them back.
 */
export async function writeArchive(
  store: ContentStore,
  { manifest }: Pick<BuiltImage, "manifest">,
  stream: Writable,
): Promise<void> {
  const layers = unique(manifest.layers);
  const table = [
    {
      Config: manifest.config.digest,
      RepoTags: [],
      Layers: manifest.layers.map(({ digest }) => layerFile(digest)),
    },
  ];
  const tar = pack();
  const writing = pipeline(tar, stream);
  writing.catch(() => {});
  const add = async (name: string, size: number, content: Readable): Promise<void> => {
    const sink = tar.entry({ name, size, mode: 0o644, mtime: new Date(0) });
    // An error of the archive also ends this entry; it is reported there.
    sink.on("error", () => {});
    for await (const chunk of content as AsyncIterable<Buffer>) {
      // A stream that failed never drains.
      if (!sink.write(chunk)) await Promise.race([new Promise<void>((go) => sink.once("drain", () => go())), writing]);
    }
    await Promise.race([new Promise<void>((go) => sink.once("close", () => go()).end(null)), writing]);
  };
  try {
    await add(manifest.config.digest, manifest.config.size, store.open(manifest.config.digest));
    for (const { digest, size } of layers) await add(layerFile(digest), size, store.open(digest));
    const index = Buffer.from(JSON.stringify(table));
    await add("manifest.json", index.length, Readable.from([index]));
    tar.finalize();
    await writing;
  } catch (error) {
    tar.destroy(error as Error);
    throw error;
  }
}

function layerFile(digest: string): string {
  return `${hexOf(digest)}.tar.gz`;
}

function unique(layers: readonly Descriptor[]): Descriptor[] {
  return [...new Map(layers.map((layer) => [layer.digest, layer])).values()];
}

/** Reads a file in the layout of `docker save` into the store. `name` is what errors call it. */
export async function readArchive(store: ContentStore, path: string, name: string): Promise<BuiltImage> {
  const folder = await mkdtemp(join(tmpdir(), "purlin-archive-"));
  try {
    const files = await unpackArchive(path, folder, name);
    return await imageOf(store, files, name);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Files of an archive on disk, by the names it gives them. */
type ArchiveFiles = ReadonlyMap<string, string>;

async function unpackArchive(path: string, folder: string, name: string): Promise<ArchiveFiles> {
  const files = new Map<string, string>();
  const tar = createTarReader();
  try {
    const reading = pipeline(await openArchive(path), tar);
    reading.catch(() => {});
    for await (const entry of tar) {
      const { name: file, type } = entry.header;
      if (files.size === maxFiles) throw new Error(`it has more than ${maxFiles} files`);
      if (type !== "file") {
        entry.resume();
        continue;
      }
      // Names are the archive's own, and stay in the table: files on disk are numbered.
      const target = join(folder, String(files.size));
      await pipeline(entry, createWriteStream(target, { mode: 0o600 }));
      files.set(file, target);
    }
    await reading;
  } catch (error) {
    throw new PackageError(unreadable(name, error), { cause: error });
  }
  return files;
}

/** What the file had when it was opened: one that is still written ends too early. */
async function openArchive(path: string): Promise<Readable> {
  const { file, size } = await openRegularFile(path, { maxBytes: maxArchiveBytes });
  if (size > 0) return file.createReadStream({ end: size - 1 });
  await file.close();
  return Readable.from([]);
}

const advice = 'build one with "purlin xpkg build"';

/** What is wrong with a file, or with the disk it is unpacked to: then another file would not help. */
function unreadable(name: string, error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (isUnreadableFile(error)) return `cannot read ${name}: ${error.message}; ${advice}`;
  if (code !== undefined) return `cannot read ${name}: ${textOf(error)}`;
  const text = textOf(error);
  if (/^Unexpected end of data/.test(text)) {
    return `${name} is not a package file: unexpected end of file; copy it again, or ${advice}`;
  }
  const why = /^Invalid tar header/.test(text) ? "it is not a tar archive" : text;
  return `${name} is not a package file: ${why}; ${advice}`;
}

async function imageOf(store: ContentStore, files: ArchiveFiles, name: string): Promise<BuiltImage> {
  const { configName, layerNames } = tableOf(await readSmall(files, "manifest.json"), name);
  const configBytes = await readSmall(files, configName);
  if (configBytes === undefined) throw new PackageError(`${name} is not a package file: ${configName} is missing`);
  const { labels } = parseImageConfig(configBytes, name);
  if (layerNames.length > maxFiles) {
    throw new PackageError(`${name} is not a package file: it has more than ${maxFiles} layers; ${advice}`);
  }
  const layers: Descriptor[] = [];
  // A layer that is listed again is read once.
  const added = new Map<string, { digest: string; size: number }>();
  for (const layerName of layerNames) {
    const what = `${name} is not a package file: the layer ${layerName}`;
    const { digest, size } = added.get(layerName) ?? (await addFile(store, files.get(layerName), what));
    added.set(layerName, { digest, size });
    const kind = labels[`${xpkgAnnotation}:${digest}`];
    const mediaType = await layerType(store, digest);
    layers.push({ mediaType, digest, size, ...(kind !== undefined && { annotations: { [xpkgAnnotation]: kind } }) });
  }
  const config = { mediaType: mediaTypes.ociConfig, digest: digestOf(configBytes), size: configBytes.length };
  await ingest(store, config, configBytes);
  const manifest = { schemaVersion: 2, mediaType: mediaTypes.ociManifest, config, layers };
  const bytes = Buffer.from(JSON.stringify(manifest));
  const descriptor = { mediaType: mediaTypes.ociManifest, digest: digestOf(bytes), size: bytes.length };
  await ingest(store, descriptor, bytes);
  return { descriptor, manifest, bytes };
}

/** The bytes of a file that is expected to be small; undefined when it is missing or too large. */
async function readSmall(files: ArchiveFiles, file: string): Promise<Buffer | undefined> {
  const path = files.get(file);
  if (path === undefined || (await stat(path)).size > maxConfigBytes) return undefined;
  return readFile(path);
}

/** Archives do not state how a layer is compressed; its first bytes show it. */
async function layerType(store: ContentStore, digest: string): Promise<string> {
  const file = await open(store.pathOf(digest));
  try {
    const { buffer } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (buffer.subarray(0, 2).equals(Buffer.from("1f8b", "hex"))) return mediaTypes.ociLayerGzip;
    return buffer.equals(Buffer.from("28b52ffd", "hex")) ? mediaTypes.ociLayerZstd : mediaTypes.ociLayer;
  } finally {
    await file.close();
  }
}

function tableOf(bytes: Buffer | undefined, name: string): { configName: string; layerNames: string[] } {
  const table = parseTable(bytes);
  if (table.length > 1) throw new PackageError(`${name} holds ${table.length} images: save one to a file of its own`);
  const [only] = table;
  if (typeof only?.Config === "string" && Array.isArray(only.Layers)) {
    return { configName: only.Config, layerNames: only.Layers.map(String) };
  }
  throw new PackageError(`${name} is not a package file: it has no manifest.json; ${advice}`);
}

interface TableEntry {
  readonly Config?: unknown;
  readonly Layers?: unknown;
}

function parseTable(bytes: Buffer | undefined): readonly (TableEntry | undefined)[] {
  try {
    const table: unknown = JSON.parse(bytes?.toString("utf8") ?? "");
    return Array.isArray(table) ? (table as TableEntry[]) : [];
  } catch {
    // What cannot be read is as good as none.
    return [];
  }
}

async function addFile(
  store: ContentStore,
  path: string | undefined,
  what: string,
): Promise<{ digest: string; size: number }> {
  if (path === undefined) throw new PackageError(`${what} is missing`);
  const descriptor = { digest: await digestOfFile(path), size: (await stat(path)).size };
  await store.ingest(descriptor, async () => ({ bytes: createReadStream(path), offset: 0 }));
  return descriptor;
}

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer);
  return `sha256:${hash.digest("hex")}`;
}

function ingest(store: ContentStore, descriptor: { digest: string; size: number }, bytes: Buffer): Promise<void> {
  return store.ingest(descriptor, async () => ({ bytes: Readable.from([bytes]), offset: 0 }));
}
