// SPDX-License-Identifier: Apache-2.0
import { Buffer } from "node:buffer";
import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CachedResponse, create, decode, encode, type RunFunctionResponse, Timestamp } from "@purlin/function-protocol";

/** Files under this prefix are being written. */
export const temporaryPrefix = ".";

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
export async function readDeadline(path: string): Promise<number | undefined> {
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
export function isMissing(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ENOENT";
}

function ignoreMissing(error: unknown): undefined {
  if (!isMissing(error)) throw error;
  return undefined;
}
