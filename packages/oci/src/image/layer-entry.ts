// SPDX-License-Identifier: Apache-2.0
import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";

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
 * Everything below a folder, in an order that is always the same. Modes are reduced to who may execute, and times kept: Python trusts
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
