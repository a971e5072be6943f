// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { readdir, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Io } from "../io.ts";
import { isUserError, UserError } from "../user-error.ts";
import { makeFolder, whyNoFolder } from "./make-folder.ts";
import { explain } from "./read-text.ts";

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
    throw new UserError(`cannot make ${path}: ${whyNoFolder(error)}`, { cause: error });
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
    const why = code === "ENOTDIR" ? "a file of that name exists" : explain(error);
    throw new UserError(`cannot make ${path}: ${why}: choose another name`, { cause: error });
  }
  throw new UserError(`cannot make ${path}: the folder exists and is not empty: choose another name or empty it`);
}
