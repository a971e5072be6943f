// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CachedResponse, create, decode, encode, type RunFunctionResponse, Timestamp } from "@purlin/function-protocol";

/** Files under this prefix are being written. */
const temporaryPrefix = ".";

/** A stored response. */
export interface StoredResponse {
  readonly response: RunFunctionResponse;
  /** When it ends, in milliseconds since the epoch. */
  readonly deadline: number;
  /** Digests of the required schemas it was made from, by the name of the requirement. */
  readonly schemas: ReadonlyMap<string, Uint8Array>;
}

/**
 * The name of a directory or file in the cache: one path segment whatever it is made of, and never hidden, because hidden
 * files are those being written.
 */
export function cacheName(text: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(text)) return text;
  const escaped = `%${encodeURIComponent(text)}`;
  return escaped.length <= 200 ? escaped : createHash("sha256").update(text).digest("hex");
}

/** Reads a file; undefined when it does not exist. Rejects when it is not what we wrote. */
export async function readCacheFile(path: string): Promise<StoredResponse | undefined> {
  const bytes = await readFile(path).catch(ignoreMissing);
  if (bytes === undefined) return undefined;
  const { deadline, response, schemas } = decode(CachedResponse, bytes);
  if (deadline === undefined || response === undefined) return undefined;
  return { response, deadline: milliseconds(deadline), schemas };
}

/** Writes a file so that readers see all of it or nothing. Answers with its size. */
export async function writeCacheFile(path: string, stored: StoredResponse): Promise<number> {
  const { response, deadline, schemas } = stored;
  const message = create(CachedResponse, { deadline: timestamp(deadline), response, schemas: new Map(schemas) });
  const bytes = encode(CachedResponse, message);
  const temporary = join(dirname(path), `${temporaryPrefix}${randomUUID()}`);
  try {
    await writeInto(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  return bytes.length;
}

/** The directory is made when it is missing: an eviction may remove an empty one at any moment. */
async function writeInto(path: string, bytes: Uint8Array): Promise<void> {
  const write = (): Promise<void> => writeFile(path, bytes, { mode: 0o600, flag: "wx" });
  await write().catch(async (error: unknown) => {
    if (!isMissing(error)) throw error;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await write();
  });
}

/** The deadline of a file, read from its first bytes; undefined when it has none. Rejects when they make no sense. */
async function readDeadline(path: string): Promise<number | undefined> {
  const head = await readHead(path);
  if (head.length === 0) return undefined;
  // Field 1, written first: a message of at most 22 bytes.
  const [tag, size = 0] = head;
  if (tag !== 0x0a || size > head.length - 2) throw new Error("it is not a cached response");
  return milliseconds(decode(Timestamp, head.subarray(2, 2 + size)));
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path);
  const head = Buffer.alloc(32);
  const { bytesRead } = await file.read(head, 0, head.length, 0);
  return head.subarray(0, bytesRead);
}

function timestamp(ms: number): Timestamp {
  const seconds = Math.floor(ms / 1000);
  return create(Timestamp, { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) });
}

function milliseconds({ seconds, nanos }: Timestamp): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}

/** For what another process, or an eviction, may have removed in the meantime. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
  return undefined;
}

/** A file that has been "being written" for longer was left by a process that died. */
const abandonedMs = 10 * 60_000;
/** When there is too much, room is made for a while. */
const refill = 0.8;

/** What an eviction goes by. */
interface EvictionOptions {
  readonly directory: string;
  readonly now: number;
  readonly maxBytes: number;
  readonly onDeleted: (directoryName: string, bytes: number) => void;
  readonly onProblem: (directoryName: string, path: string, error: unknown) => void;
}

interface CachedFile {
  readonly path: string;
  readonly owner: string;
  readonly bytes: number;
  /** When it may be deleted. */
  readonly deadline: number;
}

/**
 * Deletes expired responses, what a crash left behind and empty directories; when more than `maxBytes` remain, also those
 * that would expire next. Answers with the bytes that remain. Files it cannot read are left where they are.
 */
export async function evict(options: EvictionOptions): Promise<number> {
  const files = await findFiles(options);
  const expired = files.filter(({ deadline }) => deadline < options.now);
  const alive = files.filter(({ deadline }) => deadline >= options.now);
  for (const file of expired) await remove(file, options);
  let bytes = alive.reduce((total, file) => total + file.bytes, 0);
  if (bytes <= options.maxBytes) return bytes;
  for (const file of alive.sort((a, b) => a.deadline - b.deadline)) {
    if (bytes <= options.maxBytes * refill) break;
    await remove(file, options);
    bytes -= file.bytes;
  }
  return bytes;
}

async function findFiles(options: EvictionOptions): Promise<CachedFile[]> {
  const files: CachedFile[] = [];
  for (const owner of await namesIn(options.directory)) {
    const directory = join(options.directory, owner);
    const names = await namesIn(directory).catch((error: unknown) => {
      options.onProblem(owner, directory, error);
      return undefined;
    });
    // A directory emptied now goes the next time, so that a writer that just made it keeps it.
    if (names?.length === 0) await rmdir(directory).catch(() => {});
    for (const name of names ?? []) {
      const file = await inspect({ owner, name, path: join(directory, name) }, options);
      if (file !== undefined) files.push(file);
    }
  }
  return files;
}

async function namesIn(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function inspect(
  { owner, name, path }: { readonly owner: string; readonly name: string; readonly path: string },
  { onProblem }: EvictionOptions,
): Promise<CachedFile | undefined> {
  try {
    const { size, mtimeMs } = await stat(path);
    if (name.startsWith(temporaryPrefix)) return { path, owner, bytes: size, deadline: mtimeMs + abandonedMs };
    return { path, owner, bytes: size, deadline: (await readDeadline(path)) ?? Number.NEGATIVE_INFINITY };
  } catch (error) {
    if (!isMissing(error)) onProblem(owner, path, error);
    return undefined;
  }
}

async function remove({ path, owner, bytes }: CachedFile, { onDeleted, onProblem }: EvictionOptions): Promise<void> {
  try {
    await rm(path);
    onDeleted(owner, bytes);
  } catch (error) {
    if (!isMissing(error)) onProblem(owner, path, error);
  }
}
