// SPDX-License-Identifier: Apache-2.0
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { type Descriptor, hexOf, isDigest } from "./manifest.ts";
import { OciError } from "./oci-error.ts";

/** Opens the bytes of a blob from an offset. A source that cannot continue there returns the offset where it begins instead. */
export type BlobSource = (offset: number) => Promise<{ readonly bytes: Readable; readonly offset: number }>;

/** What may be collected. */
interface CollectOptions {
  /** Digests that stay, whatever their age. */
  readonly keep: ReadonlySet<string>;
  /** The least recently used of the others are removed until the store is at most this large. */
  readonly maxBytes: number;
  /** Blobs fetched or looked up more recently than this are kept too: their user may not be in `keep` yet. */
  readonly minAgeMs?: number | undefined;
}

/** Blobs on disk, each under its digest: complete and verified. */
export interface ContentStore {
  has(digest: string): Promise<boolean>;
  /** Where a blob lies. */
  pathOf(digest: string): string;
  /** Reads a blob that is expected to be small. */
  read(descriptor: Pick<Descriptor, "digest">): Promise<Buffer>;
  open(digest: string): Readable;
  /** Stores a blob unless it is there. What an interrupted call left behind is continued. */
  ingest(descriptor: Pick<Descriptor, "digest" | "size">, source: BlobSource): Promise<void>;
  /** Moves a file into the store as a blob if it matches the digest; otherwise removes it. */
  adopt(path: string, digest: string): Promise<number>;
  /** Removes unused blobs and stale partial downloads. Returns the number of bytes freed. */
  collect(options: CollectOptions): Promise<number>;
}

/** Opens a store in a directory of its own. */
export async function openContentStore(directory: string): Promise<ContentStore> {
  const blobs = join(directory, "blobs", "sha256");
  const partial = join(directory, "partial");
  await mkdir(blobs, { recursive: true, mode: 0o700 });
  await mkdir(partial, { recursive: true, mode: 0o700 });
  const running = new Map<string, Promise<void>>();
  /** Blobs that are being removed: a lookup waits and then reports them missing. */
  const removing = new Map<string, Promise<void>>();
  const pathOf = (digest: string): string => join(blobs, checkedHex(digest));

  async function has(digest: string): Promise<boolean> {
    await removing.get(checkedHex(digest));
    const now = new Date();
    // Touched, so that the collector knows what is in use.
    return utimes(pathOf(digest), now, now).then(
      () => true,
      () => false,
    );
  }

  async function receive(descriptor: Pick<Descriptor, "digest" | "size">, source: BlobSource): Promise<void> {
    if (await has(descriptor.digest)) return;
    const file = join(partial, checkedHex(descriptor.digest));
    await receiveInto(file, descriptor, source);
    await rename(file, pathOf(descriptor.digest));
  }

  return {
    has,
    pathOf,
    async read({ digest }) {
      return readFile(pathOf(digest));
    },
    open: (digest) => createReadStream(pathOf(digest)),
    ingest(descriptor, source) {
      const { digest } = descriptor;
      const same = running.get(digest);
      if (same !== undefined) return same;
      const started = receive(descriptor, source).finally(() => running.delete(digest));
      running.set(digest, started);
      return started;
    },
    async adopt(path, digest) {
      const file = await open(path, "r+");
      try {
        const { size } = await file.stat();
        const hash = await hashOfStart(file, size);
        await file.sync();
        await confirm(path, hash, { digest, size, written: size });
        await removing.get(checkedHex(digest));
        await rename(path, pathOf(digest));
        return size;
      } finally {
        await file.close();
      }
    },
    async collect(options) {
      const isRunning = (name: string): boolean => running.has(`sha256:${name}`);
      await removeStalePieces(partial, isRunning);
      return collectFrom(blobs, options, (name) => {
        const gone = removeOldFile(join(blobs, name), options).finally(() => removing.delete(name));
        // Lookups only wait for the end; the collector gets the error.
        removing.set(
          name,
          gone.then(
            () => {},
            () => {},
          ),
        );
        return gone;
      });
    },
  };
}

function checkedHex(digest: string): string {
  if (!isDigest(digest)) throw new OciError("NOT_AN_IMAGE", `${JSON.stringify(digest)} is not a sha256 digest`);
  return hexOf(digest);
}

/** Writes a blob to `path`, after what is there already, and leaves it there only when it is whole and right. */
async function receiveInto(
  path: string,
  { digest, size }: Pick<Descriptor, "digest" | "size">,
  source: BlobSource,
): Promise<void> {
  const file = await open(path, "a+", 0o600);
  try {
    const there = Math.min((await file.stat()).size, size);
    const { bytes, offset } = await source(there);
    const from = offset === there ? there : 0;
    await file.truncate(from);
    const hash = await hashOfStart(file, from);
    await append(file, bytes, { hash, from, size, digest });
    await file.sync();
    await confirm(path, hash, { digest, size, written: (await file.stat()).size });
  } finally {
    await file.close();
  }
}

async function hashOfStart(file: FileHandle, length: number): Promise<Hash> {
  const hash = createHash("sha256");
  if (length === 0) return hash;
  for await (const chunk of file.createReadStream({ start: 0, end: length - 1, autoClose: false })) {
    hash.update(chunk as Buffer);
  }
  return hash;
}

async function append(
  file: FileHandle,
  bytes: Readable,
  { hash, from, size, digest }: { hash: Hash; from: number; size: number; digest: string },
): Promise<void> {
  let at = from;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    at += chunk.length;
    if (at > size) {
      bytes.destroy();
      await file.truncate(0);
      throw new OciError("DIGEST_MISMATCH", `${digest}: received more than the ${size} bytes in its manifest`);
    }
    hash.update(chunk);
    await file.appendFile(chunk);
  }
}

async function confirm(
  path: string,
  hash: Hash,
  { digest, size, written }: { digest: string; size: number; written: number },
): Promise<void> {
  if (written < size) {
    throw new OciError(
      "UNREACHABLE",
      `received only ${written} of ${size} bytes of ${digest}; the next attempt continues from there`,
    );
  }
  const got = `sha256:${hash.digest("hex")}`;
  if (got === digest) return;
  await rm(path, { force: true });
  throw new OciError(
    "DIGEST_MISMATCH",
    `digest mismatch: want ${digest}, got ${got}; the content was altered by the registry or in transit`,
  );
}

async function collectFrom(
  directory: string,
  { keep, maxBytes }: CollectOptions,
  remove: (name: string) => Promise<boolean>,
): Promise<number> {
  const files = await filesIn(directory);
  let total = files.reduce((sum, { size }) => sum + size, 0);
  let freed = 0;
  for (const { name, size } of files.toSorted((a, b) => a.mtimeMs - b.mtimeMs)) {
    if (total <= maxBytes) break;
    if (keep.has(`sha256:${name}`) || !(await remove(name))) continue;
    total -= size;
    freed += size;
  }
  return freed;
}

/** Removes a file unless it was used lately. Looked at just before: it may have been used since the files were listed. */
async function removeOldFile(path: string, { minAgeMs = 0 }: CollectOptions): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined || (minAgeMs > 0 && Date.now() - found.mtimeMs < minAgeMs)) return false;
  await rm(path, { force: true });
  return true;
}

/** The next attempt continues an interrupted transfer; after a day without one, the partial file is stale. */
const stalePieceMs = 24 * 60 * 60_000;

async function removeStalePieces(directory: string, isRunning: (name: string) => boolean): Promise<void> {
  for (const { name, mtimeMs } of await filesIn(directory)) {
    if (isRunning(name) || Date.now() - mtimeMs < stalePieceMs) continue;
    await rm(join(directory, name), { force: true });
  }
}

interface StoredFile {
  readonly name: string;
  readonly size: number;
  readonly mtimeMs: number;
}

async function filesIn(directory: string): Promise<readonly StoredFile[]> {
  const names = await readdir(directory);
  const files = await Promise.all(
    names.map(async (name) => {
      // One that is gone by now needs no collecting.
      const found = await stat(join(directory, name)).catch(() => undefined);
      return found && { name, size: found.size, mtimeMs: found.mtimeMs };
    }),
  );
  return files.filter((file) => file !== undefined);
}
