// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { release } from "node:os";

/** How programs get a PID namespace here: when the first process in it ends, the kernel ends all others. */
export interface PidNamespace {
  /** The words before the command. */
  readonly words: readonly string[];
  /** It comes with a user namespace, in which the limit of processes counts only those of the function. */
  readonly ownUser: boolean;
  /** The largest pid can be set in it, which caps the number of processes. */
  readonly ownPidMax: boolean;
}

const programs = ["/usr/bin/unshare", "/bin/unshare"];
const timeoutMs = 10_000;

let known: { readonly found: PidNamespace | undefined } | undefined;

/** Finds out, once, whether this user may make PID namespaces here. It takes a few milliseconds. */
export function findPidNamespace(): PidNamespace | undefined {
  known ??= { found: tryPidNamespace() };
  return known.found;
}

function tryPidNamespace(): PidNamespace | undefined {
  const program = programs.find((path) => existsSync(path));
  if (program === undefined || process.platform !== "linux") return undefined;
  const isRoot = process.getuid?.() === 0;
  // With a /proc of its own: pids in another one are those of other processes.
  const plain = [program, "--pid", "--fork", "--kill-child", "--mount-proc"];
  if (isRoot && works(plain)) return { words: plain, ownUser: false, ownPidMax: isPidMaxOwn(release()) };
  const withUser = [program, "--user", "--map-current-user", ...plain.slice(1)];
  if (!isRoot && works(withUser)) return { words: withUser, ownUser: true, ownPidMax: false };
  return undefined;
}

function works([program = "", ...args]: readonly string[]): boolean {
  return spawnSync(program, [...args, "/bin/sh", "-c", ":"], { timeout: timeoutMs, stdio: "ignore" }).status === 0;
}

/** Linux 6.14 and later have a largest pid for each PID namespace. Before, setting it would change the whole machine. */
export function isPidMaxOwn(kernel: string): boolean {
  const [, major = 0, minor = 0] = (/^(\d+)\.(\d+)/.exec(kernel) ?? []).map(Number);
  return major > 6 || (major === 6 && minor >= 14);
}
