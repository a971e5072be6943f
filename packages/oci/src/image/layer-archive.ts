// SPDX-License-Identifier: Apache-2.0
// The archive of a layer, written and read.
import { createHash } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { type Extract, extract, type Pack, pack } from "tar-stream";
import { type Descriptor, mediaTypes } from "../content/manifest.ts";

/** A layer that was written. */
export interface WrittenLayer {
  readonly descriptor: Descriptor;
  /** The digest of the layer before compression. */
  readonly diffId: string;
}

/** Writes a compressed layer to a file. The same entries give the same bytes, on every machine. */
export async function writeLayer(
  entries: AsyncIterable<LayerEntry> | Iterable<LayerEntry>,
  path: string,
): Promise<WrittenLayer> {
  const tar = pack();
  const plain = counted();
  const packed = counted();
  const writing = pipeline(
    tar,
    plain.stream,
    createGzip({ level: 6 }),
    anonymousSystem(),
    packed.stream,
    createWriteStream(path, { mode: 0o600 }),
  );
  writing.catch(() => {});
  try {
    for await (const entry of entries) await add(tar, entry);
    tar.finalize();
  } catch (error) {
    tar.destroy(error as Error);
    await writing.catch(() => {});
    throw error;
  }
  await writing;
  const { digest, size } = packed.result();
  return { descriptor: { mediaType: mediaTypes.ociLayerGzip, digest, size }, diffId: plain.result().digest };
}

async function add(tar: Pack, entry: LayerEntry): Promise<void> {
  const { name, mtime } = entry;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const done = (error?: Error | null): void => (error ? reject(error) : resolve());
  // When the content fails first, that is the reason, and what the archive thinks of it no longer matters.
  promise.catch(() => {});
  if (entry.type === "file") {
    const sink = tar.entry({ name, mtime, type: "file", mode: entry.mode, size: entry.size }, done);
    sink.on("error", () => {});
    for await (const chunk of entry.open() as AsyncIterable<Buffer>) {
      if (!sink.write(chunk)) await new Promise<void>((go) => sink.once("drain", () => go()));
    }
    sink.end(null);
  } else if (entry.type === "directory") {
    tar.entry({ name, mtime, type: "directory", mode: entry.mode }, done);
  } else {
    tar.entry({ name, mtime, type: "symlink", mode: 0o777, linkname: entry.target }, done);
  }
  return promise;
}

function counted(): { stream: Transform; result: () => { digest: string; size: number } } {
  const hash = createHash("sha256");
  let size = 0;
  const stream = new Transform({
    transform(chunk: Buffer, _, done) {
      hash.update(chunk);
      size += chunk.length;
      done(null, chunk);
    },
  });
  return { stream, result: () => ({ digest: `sha256:${hash.digest("hex")}`, size }) };
}

/** gzip notes the operating system in its tenth byte; 255 stands for none in particular. */
function anonymousSystem(): Transform {
  let at = 0;
  return new Transform({
    transform(chunk: Buffer, _, done) {
      const place = 9 - at;
      if (place >= 0 && place < chunk.length) chunk[place] = 255;
      at += chunk.length;
      done(null, chunk);
    },
  });
}

/** One entry of a layer. It has no owner: everything belongs to root, as in every image. */
export type LayerEntry =
  | {
      readonly type: "file";
      readonly name: string;
      readonly mode: number;
      readonly size: number;
      readonly mtime: Date;
      readonly open: () => Readable;
    }
  | { readonly type: "directory"; readonly name: string; readonly mode: number; readonly mtime: Date }
  | { readonly type: "symlink"; readonly name: string; readonly target: string; readonly mtime: Date };

/** Time does not belong in what must come out the same twice. */
const noTime: Date = new Date(0);

/** A file with a given content. */
export function fileEntry(name: string, content: string | Uint8Array, mode = 0o644): LayerEntry {
  const bytes = Buffer.from(content);
  return { type: "file", name, mode, size: bytes.length, mtime: noTime, open: () => Readable.from([bytes]) };
}

/**
 * Everything below a folder, in an order that is always the same. Modes are reduced to the right to execute, and times kept: Python trusts
 * compiled files only while the time of their source is the recorded one. Sockets and devices are left out.
 */
export async function* folderEntries(folder: string, prefix = ""): AsyncGenerator<LayerEntry> {
  const names = (await readdir(folder)).toSorted();
  for (const each of names) {
    const path = join(folder, each);
    const name = prefix + each;
    const found = await lstat(path);
    const mtime = new Date(Math.floor(found.mtimeMs / 1000) * 1000);
    if (found.isSymbolicLink()) yield { type: "symlink", name, target: await readlink(path), mtime };
    else if (found.isDirectory()) {
      yield { type: "directory", name: `${name}/`, mode: 0o755, mtime };
      yield* folderEntries(path, `${name}/`);
    } else if (found.isFile()) {
      const mode = found.mode & 0o111 ? 0o755 : 0o644;
      yield { type: "file", name, mode, size: found.size, mtime, open: () => createReadStream(path) };
    }
  }
}

/**
 * A stream that reads a tar archive entry by entry. tar-stream waits forever at an entry whose size is neither octal nor a base-256
 * number; here such an archive ends with an error.
 */
export function createTarReader(): Extract {
  const tar = extract();
  // Added before those of the iterator, so that no reader sees the entry.
  tar.on("entry", ({ name, size }) => {
    if (!Number.isSafeInteger(size)) tar.destroy(new Error(`the entry ${JSON.stringify(name)} has no valid size`));
  });
  return tar;
}
