// SPDX-License-Identifier: Apache-2.0
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { textOf } from "../user-error.ts";

/**
 * Makes a folder, and those it lies in, unless they are there. Node's own way to do so never ends where a file system
 * says of a folder in one that exists that there is no such place, as /proc does.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  try {
    await makeOne(path, mode);
  } catch (error) {
    if (codeOf(error) !== "ENOENT" || dirname(path) === path) throw error;
    await makeFolder(dirname(path), mode);
    await makeOne(path, mode);
  }
}

async function makeOne(path: string, mode: number): Promise<void> {
  try {
    await mkdir(path, { mode });
  } catch (error) {
    const isThere = codeOf(error) === "EEXIST" && (await stat(path)).isDirectory();
    if (!isThere) throw error;
  }
}

/** Why a folder cannot be made or written, in words, with what to do. */
export function whyNoFolder(error: unknown): string {
  switch (codeOf(error)) {
    case "EEXIST":
    case "ENOTDIR":
      return "it is, or lies in, a file and not a folder: name another";
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `it cannot be written: ${textOf(error)}: name another, or change who may write there`;
    case "ENOENT":
      return "nothing can be made there: name another";
    default:
      return textOf(error);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}
