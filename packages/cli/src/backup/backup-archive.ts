// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import { openRegularFile } from "@purlin/kube-objects/files";
import { isJsonObject, parseJson } from "@purlin/kube-objects/json";
import { createTarReader } from "@purlin/oci";
import { type Extract, type Pack, pack } from "tar-stream";

/** The entry that lists all others. It is the last one, so an archive without it is incomplete. */
const manifestName = "backup.json";
const format = 1;
const maxManifestBytes = 64 * 1024 * 1024;
const maxFiles = 100_000;

/** What a backup is of. */
export interface BackupFacts {
  /** The version of Purlin that wrote it. */
  readonly version: string;
  readonly created: string;
  readonly revision: number;
  readonly objects: number;
}

/** A file to put into a backup. */
export interface BackupFile {
  /** Its name in the data directory, with slashes. */
  readonly name: string;
  readonly path: string;
}

interface FileDigest {
  readonly size: number;
  readonly sha256: string;
}

interface Manifest extends BackupFacts {
  readonly format: number;
  readonly files: Readonly<Record<string, FileDigest>>;
}

/** Writes files into a new archive and returns its size. The archive is on disk when this resolves. */
export async function writeBackup(
  path: string,
  {
    files,
    facts,
    signal,
  }: { readonly files: readonly BackupFile[]; readonly facts: BackupFacts; readonly signal: AbortSignal },
): Promise<number> {
  const tar = pack();
  const target = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true });
  const writing = pipeline(tar, createGzip({ level: 1 }), target, { signal });
  writing.catch(() => {});
  try {
    const digests: Record<string, FileDigest> = {};
    for (const file of files) {
      signal.throwIfAborted();
      digests[file.name] = await addFile(tar, file);
    }
    const manifest: Manifest = { format, ...facts, files: digests };
    await addText(tar, manifestName, `${JSON.stringify(manifest, undefined, 1)}\n`);
    tar.finalize();
    await writing;
    return target.bytesWritten;
  } catch (error) {
    tar.destroy(error as Error);
    await writing.catch(() => {});
    throw error;
  }
}

async function addFile(tar: Pack, { name, path }: BackupFile): Promise<FileDigest> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    // A file that grows meanwhile is copied as long as it was.
    const content = size === 0 ? [] : file.createReadStream({ start: 0, end: size - 1, autoClose: false });
    const counted = new CountedContent(content as AsyncIterable<Buffer>);
    await addEntry(tar, { name, size }, counted);
    return counted.digest();
  } finally {
    await file.close();
  }
}

async function addText(tar: Pack, name: string, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  await addEntry(tar, { name, size: bytes.length }, [bytes]);
}

async function addEntry(
  tar: Pack,
  { name, size }: { readonly name: string; readonly size: number },
  content: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const done = (error?: Error | null): void => (error ? reject(error) : resolve());
  // When the content fails first, that is the error to report.
  promise.catch(() => {});
  const sink = tar.entry({ name, size, mode: 0o600, mtime: new Date(0) }, done);
  sink.on("error", () => {});
  for await (const chunk of content) {
    if (!sink.write(chunk)) await Promise.race([drained(sink), promise]);
  }
  sink.end(null);
  await promise;
}

function drained(sink: ReturnType<Pack["entry"]>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  sink.once("drain", () => resolve());
  return promise;
}

/** A file of an archive that is read. */
export interface ArchivedFile {
  readonly name: string;
  /** The size that the archive declares. The content is as long, or reading fails. */
  readonly size: number;
  readonly content: AsyncIterable<Buffer>;
}

/** Receives the files of an archive, in order. It consumes the content of each. */
type FileReceiver = (file: ArchivedFile) => Promise<void>;

/**
 * Reads an archive to its end and compares every file with the list of the archive. Throws an error that says what is wrong: not a backup,
 * incomplete, or damaged. What `receive` got before that is not to be used.
 */
export async function readBackup(path: string, receive: FileReceiver, signal: AbortSignal): Promise<BackupFacts> {
  const { file } = await openRegularFile(path, { maxBytes: Number.MAX_SAFE_INTEGER });
  const tar = createTarReader();
  const reading = pipeline(file.createReadStream(), createGunzip(), tar, { signal });
  reading.catch(() => {});
  try {
    return await readEntries(tar, reading, receive);
  } catch (error) {
    tar.destroy();
    // The files of an archive that ends early or cannot be decompressed only say that there is no more of them.
    const cause: unknown = await reading.catch((failure: unknown) => failure);
    throw (cause as NodeJS.ErrnoException | undefined)?.code?.startsWith("Z_") ? cause : error;
  }
}

async function readEntries(tar: Extract, reading: Promise<void>, receive: FileReceiver): Promise<BackupFacts> {
  const found = new Map<string, FileDigest>();
  let manifest: Manifest | undefined;
  for await (const entry of tar) {
    const { name, type, size = 0 } = entry.header;
    const content = entry as AsyncIterable<unknown> as AsyncIterable<Buffer>;
    if (manifest !== undefined) throw new Error(`${name} comes after the list of files`);
    if (type !== "file" || (name !== manifestName && !isSafeName(name)))
      throw new Error(`unexpected entry ${JSON.stringify(name)}`);
    if (name === manifestName) manifest = parseManifest(await smallText(content));
    else {
      if (found.size >= maxFiles) throw new Error(`it has more than ${maxFiles} files`);
      const counted = new CountedContent(content);
      await receive({ name, size, content: counted });
      if (found.has(name)) throw new Error(`${name} comes twice`);
      found.set(name, counted.digest());
    }
  }
  await reading;
  if (manifest === undefined) throw new Error(`the backup is incomplete: ${manifestName} is missing`);
  compare(manifest.files, found);
  return manifest;
}

/** A relative path without empty segments, `.` and `..`, or control characters. */
function isSafeName(name: string): boolean {
  const segments = name.split("/");
  const isRelative = segments.every((segment) => segment !== "" && segment !== "." && segment !== "..");
  return isRelative && !/[\p{Cc}\\]/u.test(name);
}

/** The content of an entry, with the digest of what was read of it. */
class CountedContent implements AsyncIterable<Buffer> {
  readonly #content: AsyncIterable<Buffer>;
  readonly #hash = createHash("sha256");
  #size = 0;

  constructor(content: AsyncIterable<Buffer>) {
    this.#content = content;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for await (const chunk of this.#content) {
      this.#hash.update(chunk);
      this.#size += chunk.length;
      yield chunk;
    }
  }

  digest(): FileDigest {
    return { size: this.#size, sha256: this.#hash.digest("hex") };
  }
}

async function smallText(entry: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of entry) {
    size += chunk.length;
    if (size > maxManifestBytes) throw new Error(`${manifestName} is larger than ${maxManifestBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Reads the list of files. Its texts are shown: they must not have characters that a terminal acts on. */
function parseManifest(text: string): Manifest {
  const value: unknown = parseJson(text);
  const { format: found, version, created, revision, objects, files } = isJsonObject(value) ? value : {};
  if (found !== format) {
    throw new Error(`it has format ${JSON.stringify(found)}, and this version of Purlin reads format ${format}`);
  }
  const isShown = [version, created].every((one) => typeof one === "string" && /^[\w.:+-]{1,64}$/.test(one));
  const isCounted = [revision, objects].every((one) => typeof one === "number");
  if (!isShown || !isCounted || !isJsonObject(files)) throw new Error(`${manifestName} is malformed`);
  for (const [name, digest] of Object.entries(files)) {
    const isDigest = isJsonObject(digest) && typeof digest["size"] === "number" && typeof digest["sha256"] === "string";
    if (!isSafeName(name) || !isDigest) throw new Error(`${manifestName} is malformed at ${JSON.stringify(name)}`);
  }
  return value as Manifest;
}

function compare(listed: Manifest["files"], found: ReadonlyMap<string, FileDigest>): void {
  for (const [name, { size, sha256 }] of Object.entries(listed)) {
    const file = found.get(name);
    if (file === undefined) throw new Error(`${name} is missing`);
    if (file.size !== size || file.sha256 !== sha256) throw new Error(`digest mismatch of ${name}`);
  }
  const extra = [...found.keys()].find((name) => !Object.hasOwn(listed, name));
  if (extra !== undefined) throw new Error(`${extra} is not in the list of files`);
}

/** Reads content to its end. */
export async function skip(content: AsyncIterable<Buffer>): Promise<void> {
  for await (const _ of content);
}

/** The name of the store in a backup. */
export const storeName = "store.db";

/** A size as people read it. */
export function sizeText(bytes: number): string {
  if (bytes < 1024 * 1024) return `${Math.max(1, Math.round(bytes / 1024))} KiB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}
