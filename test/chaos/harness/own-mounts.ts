// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import process from "node:process";

// Mounts that only the server sees and that vanish with it. Root may do that; others may as root of a user namespace, where the
// system allows it.
const unshare = process.getuid?.() === 0 ? ["unshare", "--mount"] : ["unshare", "--user", "--map-root-user", "--mount"];

/** False where the system lets us have no mounts of our own; then say so and skip. */
export const canMount: boolean = run([...unshare, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]);

/** Runs a command with a disk of its own mounted on the directory, so many bytes large. */
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

/** Forbids or allows to change a file, also for those who have it open. False where only root may, or the file system cannot. */
export function setImmutable(path: string, on: boolean): boolean {
  return run(["chattr", on ? "+i" : "-i", path]);
}

function run([program = "", ...args]: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}
