// SPDX-License-Identifier: Apache-2.0
import type { Stats } from "node:fs";

// Imported as modules, these would be loaded with everything they could ever be asked for: several milliseconds each.
const { lstatSync, realpathSync, statSync } = process.getBuiltinModule("node:fs");
const { dirname, resolve } = process.getBuiltinModule("node:path");

const groupWrites = 0o020;
const othersWrite = 0o002;
const sticky = 0o1000;

/**
 * Why a folder is not safe from other users of this machine, and what to do; undefined where it is, and on systems without user ids. It
 * must belong to this user, only this user may write to it, and no other user may replace it or a folder that it lies in.
 */
export function folderRisk(path: string): string | undefined {
  const uid = process.getuid?.();
  if (uid === undefined) return undefined;
  const real = realpathSync(path);
  return riskOfItself(real, uid) ?? riskOfParents(real, uid) ?? riskOfLink(resolve(path), uid);
}

function riskOfItself(path: string, uid: number): string | undefined {
  const found = statSync(path);
  if (found.uid !== uid) return ownedBy(path, found.uid, uid);
  if (!isOthersWritable(found)) return undefined;
  return `${path} is writable by other users (mode ${modeText(found.mode)}), who may have changed its contents: check them, then run "chmod go-w ${path}"`;
}

/** A user that may write to a folder may rename its entries, unless it is sticky, as /tmp is. */
function riskOfParents(path: string, uid: number): string | undefined {
  for (let child = path; dirname(child) !== child; child = dirname(child)) {
    const parent = dirname(child);
    const risk = riskOfParent(parent, statSync(parent), uid);
    if (risk !== undefined) return risk;
  }
  return undefined;
}

function riskOfParent(parent: string, found: Stats, uid: number): string | undefined {
  const { mode, uid: owner } = found;
  // Where root works in the folder of a user, that user is trusted with what root runs from it anyway.
  if (owner !== uid && owner !== 0 && uid !== 0) return ownedBy(parent, owner, uid);
  if ((mode & sticky) !== 0 || !isOthersWritable(found)) return undefined;
  return `${parent} is writable by other users (mode ${modeText(mode)}), who could replace its contents: run "chmod go-w ${parent}", or choose another folder`;
}

/** Many systems give each user a group of their own, and let it write: the user's own group counts as the user. */
function isOthersWritable({ mode, gid }: Stats): boolean {
  const isOwnGroup = gid === 0 || gid === process.getgid?.();
  return (mode & othersWrite) !== 0 || ((mode & groupWrites) !== 0 && !isOwnGroup);
}

function riskOfLink(path: string, uid: number): string | undefined {
  const found = lstatSync(path);
  if (!found.isSymbolicLink()) return undefined;
  if (found.uid !== uid && found.uid !== 0) return ownedBy(path, found.uid, uid);
  return riskOfParents(path, uid);
}

function ownedBy(path: string, owner: number, uid: number): string {
  return `${path} belongs to another user (uid ${owner}, this is uid ${uid}): choose a folder of your own, or run "sudo chown ${uid} ${path}" if it is yours`;
}

function modeText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
