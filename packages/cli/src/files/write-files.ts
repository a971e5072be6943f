// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { mkdir, readdir, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Io } from "../io.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import { explain } from "./read-text.ts";

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
      return "the path or a part of it is a file, not a folder: choose another folder";
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return `not writable: ${textOf(error)}: choose another folder, or change its permissions`;
    case "ENOENT":
      return "files cannot be created there: choose another folder";
    default:
      return textOf(error);
  }
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

/** What an empty folder may have: a repository that was just made. */
const ignored: ReadonlySet<string> = new Set([".git"]);

/**
 * Makes a folder whole or not at all: `fill` writes into a draft, which becomes the folder when everything is there. A folder that
 * exists is refused unless it is empty; it stays the same folder, as a shell may be in it.
 */
export async function writeFolder(path: string, io: Io, fill: (folder: string) => Promise<void>): Promise<void> {
  const target = resolve(io.cwd, path);
  const existed = await refuseContent(target, path);
  const id = randomUUID().slice(0, 8);
  const draft = existed ? join(target, `.draft-${id}`) : join(dirname(target), `.${basename(target)}-${id}`);
  try {
    await makeFolder(draft);
    await fill(draft);
    if (existed) await moveInto(draft, target);
    else await rename(draft, target);
  } catch (error) {
    await rm(draft, { recursive: true, force: true }).catch(() => undefined);
    if (isUserError(error)) throw error;
    throw new UserError(`cannot create ${path}: ${whyNoFolder(error)}`, { cause: error });
  }
}

/** Moves everything that is in a folder, or nothing. */
async function moveInto(draft: string, target: string): Promise<void> {
  const moved: string[] = [];
  try {
    for (const name of await readdir(draft)) {
      await rename(join(draft, name), join(target, name));
      moved.push(name);
    }
    await rmdir(draft);
  } catch (error) {
    for (const name of moved) await rm(join(target, name), { recursive: true, force: true });
    throw error;
  }
}

/** Whether an empty folder is there already. */
async function refuseContent(target: string, path: string): Promise<boolean> {
  try {
    if ((await readdir(target)).every((name) => ignored.has(name))) return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return false;
    const why = code === "ENOTDIR" ? "a file with that name exists" : explain(error);
    throw new UserError(`cannot create ${path}: ${why}: choose another name`, { cause: error });
  }
  throw new UserError(`cannot create ${path}: the folder exists and is not empty: choose another name, or empty it`);
}

/** Writes a file that only this user can read. It is written beside and moved over, so that no reader ever finds half a file. */
export async function replaceFile(path: string, text: string): Promise<void> {
  const partial = `${path}.partial`;
  // A new file each time: one that is left from a crash keeps its mode, and a link its target.
  await rm(partial, { force: true });
  await writeFile(partial, text, { mode: 0o600, flag: "wx" });
  try {
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
