// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import process from "node:process";

// Mounts that only the server sees and that vanish with it. Root may do that; others may as root of a user namespace, where the
// system allows it.
const unshare = process.getuid?.() === 0 ? ["unshare", "--mount"] : ["unshare", "--user", "--map-root-user", "--mount"];

/** Runs a command with a disk of its own mounted on the directory, this many bytes large. */
export function onSmallDisk(directory: string, bytes: number): string[] {
  return wrapped(`mount -t tmpfs -o size=${bytes},mode=0700 tmpfs "$0" && exec "$@"`, directory);
}

/** Runs a command that sees the directory and may not write to it. */
export function onReadOnlyDirectory(directory: string): string[] {
  return wrapped('mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"', directory);
}

function wrapped(script: string, directory: string): string[] {
  return [...unshare, "sh", "-c", script, directory];
}

/** Forbids or allows changes of a file, also for processes that have it open. Throws where that is not possible. */
export function setImmutable(path: string, on: boolean): void {
  const { status, stderr, error } = spawnSync("chattr", [on ? "+i" : "-i", path], { encoding: "utf8" });
  if (status === 0) return;
  const reason = error?.message ?? stderr.trim();
  throw new Error(
    `cannot make ${path} immutable: ${reason}. Run as root, on a file system with attributes, with e2fsprogs installed`,
    { cause: error },
  );
}
