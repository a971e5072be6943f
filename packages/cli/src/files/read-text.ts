// SPDX-License-Identifier: Apache-2.0
import { createReadStream } from "node:fs";
import { realpath } from "node:fs/promises";
import { resolve, sep } from "node:path";
import { addAbortSignal } from "node:stream";
import {
  decodeUtf8,
  isUnreadableFile,
  readRegularFile,
  readRegularFileSync,
  readStreamWithin,
} from "@purlin/kube-objects/files";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";

/** The largest text that is read of a file or standard input. */
const maxTextBytes: number = 32 * 1024 * 1024;

const limits = { maxBytes: maxTextBytes };

/** What a file holds, for errors: `request`, `composite resource`. */
interface ReadTextOptions {
  readonly what: string;
  /** Most bytes that are read, where files of programs may be larger than those that people write. */
  readonly maxBytes?: number;
}

/** The text of a file the user named; `-` is standard input. Throws a UserError that says what is wrong with it and what to do. */
export async function readText(
  path: string,
  io: Io,
  { what, maxBytes = maxTextBytes }: ReadTextOptions,
): Promise<string> {
  const limits = { maxBytes };
  try {
    if (path === "-") return decodeUtf8(await readStreamWithin(addAbortSignal(io.signal, io.stdin), limits));
    const descriptor = descriptorOf(path);
    if (descriptor === undefined) return decodeUtf8(await readRegularFile(resolve(io.cwd, path), limits));
    const stream = createReadStream("", { fd: descriptor, autoClose: false });
    return decodeUtf8(await readStreamWithin(addAbortSignal(io.signal, stream), limits));
  } catch (error) {
    if (io.signal.aborted) throw error;
    const name = path === "-" ? "standard input" : `the ${what} ${path}`;
    throw new UserError(`cannot read ${name}: ${explain(error)}`, { cause: error });
  }
}

/** The text of a file, for what must be known before anything else. Throws as {@link readText}, naming the file as it is shown. */
export function readTextSync(path: string, shown: string): string {
  try {
    return decodeUtf8(readRegularFileSync(path, limits));
  } catch (error) {
    throw new UserError(`cannot read ${shown}: ${explain(error)}`, { cause: error });
  }
}

/** The text of a file; undefined if the file does not exist. Throws as {@link readText}. */
export async function readTextIfThere(
  path: string,
  shown: string,
  { maxBytes = maxTextBytes }: Pick<ReadTextOptions, "maxBytes"> = {},
): Promise<string | undefined> {
  try {
    return decodeUtf8(await readRegularFile(path, { maxBytes }));
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw new UserError(`cannot read ${shown}: ${explain(error)}`, { cause: error });
  }
}

/** What a shell passes for `<(command)`: a pipe that this process has inherited, which is read as standard input is. */
function descriptorOf(path: string): number | undefined {
  const [, number] = /^\/dev\/fd\/(\d{1,6})$/.exec(path) ?? [];
  return number === undefined || Number(number) < 3 ? undefined : Number(number);
}

/** The usual reasons in words, with what to do. */
export function explain(error: unknown): string {
  if (isUnreadableFile(error)) return error.message;
  switch ((error as NodeJS.ErrnoException | undefined)?.code) {
    case "ENOENT":
      return "no such file: check the path";
    case "EISDIR":
      return "it is a folder: specify a file in it";
    case "ENOTDIR":
      return "a part of the path is a file, not a folder: check the path";
    case "EACCES":
    case "EPERM":
      return "permission denied: check the file's permissions";
    case "ELOOP":
      return "too many levels of symbolic links: the link refers to itself";
    case "ENAMETOOLONG":
      return "the path is longer than the system allows: check the path";
    default:
      return textOf(error);
  }
}

/**
 * The file that a symbolic link leads to, seen from its folder. Rejects one that leads out of it: the author of the folder did not write its
 * target. Broken links are left to the caller that reads them.
 */
export async function requireInside(
  folder: string,
  link: string,
  {
    io,
    advice = "specify it on the command line",
  }: { readonly io: Pick<Io, "cwd">; readonly advice?: string | undefined },
): Promise<string | undefined> {
  const root = await realpath(resolve(io.cwd, folder));
  const target = await realpath(resolve(io.cwd, link)).catch(() => undefined);
  if (target === undefined) return undefined;
  const prefix = root.endsWith(sep) ? root : `${root}${sep}`;
  if (target.startsWith(prefix)) return target.slice(prefix.length);
  throw new UserError(
    `cannot read ${link}: it is a symbolic link to ${target}, outside ${folder}: copy the file, or ${advice}`,
  );
}
