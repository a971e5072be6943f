// SPDX-License-Identifier: Apache-2.0

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { release } from "node:os";
import type { FunctionLimits } from "./function-limits.ts";

/** Which limits a shell sets for a program. */
interface ScriptLimits {
  readonly limits: FunctionLimits;
  /** Only in a user namespace, where no other processes count. */
  readonly countProcesses: boolean;
  /** Largest file; not for programs that write results of their own. */
  readonly limitFiles: boolean;
}

/**
 * Memory that a process may write to, whether or not it has: a stop between two samples for one that takes it very fast. Runtimes reserve
 * more than they use, so it is well above the limit that is supervised.
 */
function dataKilobytes({ memoryBytes }: FunctionLimits): number {
  return Math.round((2 * memoryBytes + 2 * 1024 ** 3) / 1024);
}

/** A shell counts files in these. */
const blockBytes = 512;

/** Shell text that sets limits for the shell and all it starts. One that the machine refuses, as it has a lower one, is left out. */
function limitScript({ limits, countProcesses, limitFiles }: ScriptLimits): string {
  const { openFiles, processes, tmpBytes } = limits;
  const lines = ["ulimit -c 0", `ulimit -n ${Math.round(openFiles)}`, `ulimit -d ${dataKilobytes(limits)}`];
  if (limitFiles) lines.push(`ulimit -f ${Math.ceil(tmpBytes / blockBytes)}`);
  // Above the limit, so that supervision sees it exceeded and says so. Shells call it -u (bash) or -p (dash).
  const mostProcesses = Math.ceil(1.25 * processes) + 16;
  if (countProcesses) lines.push(either(`ulimit -u ${mostProcesses}`, `ulimit -p ${mostProcesses}`));
  return lines.map(quiet).join("\n");
}

function quiet(command: string): string {
  return `{ ${command}; } 2>/dev/null`;
}

function either(one: string, other: string): string {
  return `{ ${one}; } 2>/dev/null || ${other}`;
}

/** A command that runs another one with limits. */
export function limitedCommand(command: readonly string[], limits: ScriptLimits): readonly string[] {
  return ["/bin/sh", "-c", `${limitScript(limits)}\nexec "$@"`, "purlin-limits", ...command];
}

/**
 * The first process of a PID namespace: it waits for the program, and for whatever the program leaves behind. Signals reach the program
 * itself, which is in the same process group.
 */
const first = `
trap : TERM INT HUP
"$@" &
child=$!
exec 3>&- 4<&- 5<&- 6<&-
while :; do
  wait "$child" 2>/dev/null
  code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
`;

/** The kernel gives pids below this only once. */
const reservedPids = 301;

/** Shell text that caps the number of processes in a PID namespace, where it has a largest pid of its own. */
function capScript({ ownPidMax }: PidNamespace, { processes }: FunctionLimits): string {
  return ownPidMax ? quiet(`echo ${Math.round(processes) + reservedPids} >/proc/sys/kernel/pid_max`) : "";
}

/** A command that runs another one in a PID namespace, with limits. */
export function namespacedCommand(
  command: readonly string[],
  namespace: PidNamespace,
  limits: ScriptLimits,
): readonly string[] {
  const script = [capScript(namespace, limits.limits), limitScript(limits), first].join("\n");
  return [...namespace.words, "/bin/sh", "-c", script, "purlin-init", ...command];
}

/** A command that runs another one in a PID namespace, with as many processes as the limits allow. */
export function cappedCommand(
  command: readonly string[],
  namespace: PidNamespace,
  limits: FunctionLimits,
): readonly string[] {
  const script = [capScript(namespace, limits), first].join("\n");
  return [...namespace.words, "/bin/sh", "-c", script, "purlin-init", ...command];
}

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
