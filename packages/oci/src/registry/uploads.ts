// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { RegistryError } from "./routes.ts";

/** Blobs on their way in, each a file that grows. */
export interface Uploads {
  start(): Promise<string>;
  /** Appends and says how long it is now. */
  append(id: string, bytes: Readable, from?: number): Promise<number>;
  sizeOf(id: string): Promise<number>;
  pathOf(id: string): string;
  cancel(id: string): Promise<void>;
}

/** What may be in the directory of uploads. */
interface UploadLimits {
  /** A blob has no more. */
  readonly maxBytes: number;
  /** An upload to which nothing was added for this long was given up by its client. */
  readonly idleMs?: number | undefined;
  readonly now?: (() => number) | undefined;
}

const oneHourMs = 3_600_000;

/** Opens the directory of uploads. What an earlier process left unfinished is removed: clients start again. */
export async function openUploads(directory: string, limits: UploadLimits): Promise<Uploads> {
  const { maxBytes, idleMs = oneHourMs, now = Date.now } = limits;
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const pathOf = (id: string): string => join(directory, id);

  async function sizeOf(id: string): Promise<number> {
    const found = await stat(pathOf(id)).catch(() => undefined);
    if (found === undefined) throw new RegistryError("BLOB_UPLOAD_UNKNOWN", "there is no such upload; start a new one");
    return found.size;
  }

  async function removeAbandoned(): Promise<void> {
    for (const name of await readdir(directory)) {
      const found = await stat(pathOf(name)).catch(() => undefined);
      if (found !== undefined && now() - found.mtimeMs > idleMs) await rm(pathOf(name), { force: true });
    }
  }

  return {
    pathOf,
    sizeOf,
    async start() {
      await removeAbandoned();
      const id = randomUUID();
      const file = await open(pathOf(id), "wx", 0o600);
      await file.close();
      return id;
    },
    async append(id, bytes, from) {
      const there = await sizeOf(id);
      if (from !== undefined && from !== there) {
        throw new RegistryError("BLOB_UPLOAD_INVALID", `the upload continues at ${there}, not at ${from}`);
      }
      const file = await open(pathOf(id), "a", 0o600);
      let size = there;
      try {
        for await (const chunk of bytes as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxBytes) throw new RegistryError("SIZE_INVALID", `a blob may have ${maxBytes} bytes at most`);
          await file.appendFile(chunk);
        }
      } finally {
        await file.close();
      }
      return size;
    },
    async cancel(id) {
      await sizeOf(id);
      await rm(pathOf(id), { force: true });
    },
  };
}
