// SPDX-License-Identifier: Apache-2.0
import { type FileHandle, open } from "node:fs/promises";
import { StringDecoder } from "node:string_decoder";

/** Reads a log that another process writes. */
export interface LogReader {
  /** What was written since the last time; at first everything there is. */
  next(): Promise<string>;
}

/**
 * Reads a log file that is moved to `PATH.1` when it is full: what was written there before it was moved is not missed. A
 * file that is not there has nothing in it.
 */
export function readLog(path: string): LogReader {
  let at: { inode: number; offset: number } | undefined;
  const decoder = new StringDecoder("utf8");
  return {
    async next() {
      await using files = new AsyncDisposableStack();
      // This one first: should it be moved aside now, the other one is the same file and is left out.
      const current = await opened(path, files);
      const moved = await opened(`${path}.1`, files);
      const chunks: Buffer[] = [];
      if (moved !== undefined && moved.inode !== current?.inode) {
        if (at === undefined) chunks.push(await readFrom(moved.file, 0));
        else if (moved.inode === at.inode) chunks.push(await readFrom(moved.file, at.offset));
      }
      if (current !== undefined) {
        const from = at?.inode === current.inode && at.offset <= current.size ? at.offset : 0;
        const bytes = await readFrom(current.file, from);
        chunks.push(bytes);
        at = { inode: current.inode, offset: from + bytes.length };
      }
      return decoder.write(Buffer.concat(chunks));
    },
  };
}

interface OpenFile {
  readonly file: FileHandle;
  readonly inode: number;
  readonly size: number;
}

async function opened(path: string, files: AsyncDisposableStack): Promise<OpenFile | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  files.defer(() => file.close());
  const { ino, size } = await file.stat();
  return { file, inode: ino, size };
}

async function readFrom(file: FileHandle, offset: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of file.createReadStream({ start: offset, autoClose: false })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}
