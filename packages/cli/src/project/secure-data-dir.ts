// SPDX-License-Identifier: Apache-2.0
import { chmodSync, lstatSync, readdirSync, type Stats } from "node:fs";
import { join } from "node:path";
import { folderRisk } from "../files/own-folder.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";

/** Folders of a data directory with keys and tokens in them. */
const secretFolders: ReadonlySet<string> = new Set(["pki", "docker", "function-client"]);
/** What takes most of the room may lie on another disk, by a link of the user's own. */
const mayBeLinks: ReadonlySet<string> = new Set(["images", "roots", "registry", "functions", "purlin.log"]);

const ofOthers = 0o077;

/**
 * Sees that no other user of the machine can read or change what is in a data directory, and takes from its files and folders the rights
 * that others have. Throws where that is not enough: what others could have written is not trusted.
 */
export function secureDataDir(directory: string): void {
  const risk = folderRisk(directory);
  if (risk !== undefined) throw new UserError(`--data-dir ${directory}: ${risk}`);
  const uid = process.getuid?.();
  if (uid === undefined) return;
  tighten(directory, lstatSync(directory));
  for (const name of readdirSync(directory)) {
    const isLinkable = mayBeLinks.has(name);
    const found = secureEntry(directory, name, { uid, isLinkable });
    if (!secretFolders.has(name) || !found?.isDirectory()) continue;
    for (const file of readdirSync(join(directory, name))) {
      secureEntry(join(directory, name), file, { uid, isLinkable: false });
    }
  }
}

/**
 * Sees that no other user of the machine can change the folder that packages are cached in, nor read it. In a Pod it is a volume, which
 * belongs to root and is writable by all, and there are no other users.
 */
export function secureCacheDir(directory: string, { env }: Pick<Io, "env">): void {
  if (env["KUBERNETES_SERVICE_HOST"]) return;
  const risk = folderRisk(directory);
  if (risk !== undefined) throw new UserError(`--xpkg-cache-dir ${directory}: ${risk}`);
  if (process.getuid !== undefined) tighten(directory, lstatSync(directory));
}

interface Rules {
  readonly uid: number;
  readonly isLinkable: boolean;
}

function secureEntry(folder: string, name: string, { uid, isLinkable }: Rules): Stats | undefined {
  const path = join(folder, name);
  const found = lstatSync(path, { throwIfNoEntry: false });
  // A control plane that runs there already removes and makes files.
  if (found === undefined) return undefined;
  if (found.uid !== uid) {
    throw new UserError(
      `${path} belongs to another user (uid ${found.uid}, this is uid ${uid}): remove it, or run "sudo chown -R ${uid} ${path}" if it is yours`,
    );
  }
  if (!found.isSymbolicLink()) tighten(path, found);
  else if (!isLinkable) throw new UserError(`${path} is a symbolic link: replace it with a regular file or folder`);
  return found;
}

/** Takes rights away and gives none: a folder that its owner made read-only stays so. */
function tighten(path: string, { mode }: Stats): void {
  if ((mode & ofOthers) === 0) return;
  try {
    chmodSync(path, mode & 0o700);
  } catch (error) {
    // On a file system that cannot be written, what is served read-only is as private as its folder; and a file may be gone by now.
    if (!["EROFS", "ENOENT"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
