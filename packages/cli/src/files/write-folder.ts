// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { readdir, rename, rm, rmdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { Io } from "../io.ts";
import { isUserError, UserError } from "../user-error.ts";
import { makeFolder, whyNoFolder } from "./make-folder.ts";
import { explain } from "./read-text.ts";

/**
 * Makes a folder whole or not at all: `fill` writes into a folder beside it, which gets its name when everything is there.
 * A folder that exists is refused unless it is empty.
 */
export async function writeFolder(path: string, io: Io, fill: (folder: string) => Promise<void>): Promise<void> {
  const target = resolve(io.cwd, path);
  const existed = await refuseContent(target, path);
  let draft: string | undefined;
  try {
    draft = join(dirname(target), `.${basename(target)}-${randomUUID().slice(0, 8)}`);
    await makeFolder(draft);
    await fill(draft);
    if (existed) await rmdir(target);
    await rename(draft, target);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { recursive: true, force: true });
    if (isUserError(error)) throw error;
    throw new UserError(`cannot make ${path}: ${whyNoFolder(error)}`, { cause: error });
  }
}

/** Whether an empty folder is there already. */
async function refuseContent(target: string, path: string): Promise<boolean> {
  try {
    if ((await readdir(target)).length === 0) return true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT") return false;
    const why = code === "ENOTDIR" ? "a file of that name exists" : explain(error);
    throw new UserError(`cannot make ${path}: ${why}: choose another name`, { cause: error });
  }
  throw new UserError(`cannot make ${path}: the folder exists and is not empty: choose another name or empty it`);
}
