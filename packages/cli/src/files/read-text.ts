// SPDX-License-Identifier: Apache-2.0
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { addAbortSignal } from "node:stream";
import { text } from "node:stream/consumers";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

/** What a file holds, for errors: `request`, `composite resource`. */
export interface ReadTextOptions {
  readonly what: string;
}

/** The text of a file the user named; `-` is standard input. */
export async function readText(path: string, io: Io, { what }: ReadTextOptions): Promise<string> {
  if (path === "-") return text(addAbortSignal(io.signal, io.stdin));
  try {
    return await readFile(resolve(io.cwd, path), "utf8");
  } catch (error) {
    throw new UserError(`cannot read the ${what} ${path}: ${explain(error)}`, { cause: error });
  }
}

/** The usual reasons in words, with what to do. */
export function explain(error: unknown): string {
  switch ((error as NodeJS.ErrnoException | undefined)?.code) {
    case "ENOENT":
      return "there is no such file: check the path";
    case "EISDIR":
      return "it is a folder: name a file in it";
    case "ENOTDIR":
      return "a part of the path is a file, not a folder: check the path";
    case "EACCES":
    case "EPERM":
      return "permission denied: check who may read it";
    default:
      return textOf(error);
  }
}
