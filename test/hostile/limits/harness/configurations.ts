// SPDX-License-Identifier: Apache-2.0
// Where hostile functions run: with and without bubblewrap, with each means of supervision, as root and as a plain user.
import { spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { mountPoints, type SupervisionOptions } from "@purlin/function-process";
import { holdLog } from "../../harness/hold-log.ts";
import { rawCallProgram } from "../../sandbox/raw-calls.ts";
import type { RunnerAttack, RunnerInput, RunnerOutcome } from "./attack-runner.ts";

/** One way to run functions. */
export interface Configuration {
  readonly title: string;
  readonly isSandboxed: boolean;
  /** As another user than that of the tests, which is root then. */
  readonly uid: number | undefined;
  readonly supervision: SupervisionOptions;
}

const plainUid = 61_234;
const all = {};
const marksOnly = { controlGroups: false, pidNamespaces: false };

/** The configurations that this user can reach. */
export const configurations: readonly Configuration[] = [
  ...(process.getuid?.() === 0 ? [undefined, plainUid] : [undefined]),
].flatMap((uid) => {
  const who = uid === undefined ? `uid ${process.getuid?.()}` : `uid ${uid}`;
  return [
    { title: `${who}, bubblewrap`, isSandboxed: true, uid, supervision: all },
    { title: `${who}, no bubblewrap`, isSandboxed: false, uid, supervision: all },
    {
      title: `${who}, no bubblewrap, no namespaces or control groups`,
      isSandboxed: false,
      uid,
      supervision: marksOnly,
    },
  ];
});

/** A folder for one run of the control plane, that its user may write to. */
export interface Place extends Disposable {
  readonly directory: string;
  readonly root: string;
}

/** Makes an image with the hostile program, and a folder for the control plane. */
export function makePlace({ uid }: Pick<Configuration, "uid">): Place {
  const base = mkdtempSync(join(tmpdir(), "purlin-limits-"));
  chmodSync(base, 0o755);
  const root = join(base, "root");
  for (const mount of [...mountPoints, "function", "bin"]) mkdirSync(join(root, mount), { recursive: true });
  copyFileSync(join(import.meta.dirname, "hostile-program.mjs"), join(root, "function/hostile-program.mjs"));
  writeFileSync(join(root, "function/calls"), rawCallProgram(), { mode: 0o755 });
  copyFileSync("/bin/sh", join(root, "bin/sh"));
  const directory = join(base, "state");
  mkdirSync(directory, { mode: 0o700 });
  if (uid !== undefined) chownSync(directory, uid, uid);
  return { directory, root, [Symbol.dispose]: () => rmSync(base, { recursive: true, force: true }) };
}

/** A control plane with hostile functions, as a process of its own. */
export interface Runner {
  readonly pid: number;
  readonly outcome: Promise<RunnerOutcome>;
  /** CPU time of the longest turn of its event loop since a time. */
  heldMs(since: number): number;
  /** Resolves when it is gone. */
  readonly ended: Promise<unknown>;
}

/** Everything below it is limited once more, in case that what is tested does not work. */
const safetyNet = ["/usr/bin/prlimit", "--nproc=600", `--data=${8 * 1024 ** 3}`, "--"];

/** Starts it. */
export function startRunner(
  { uid, isSandboxed, supervision }: Configuration,
  { directory, root }: Place,
  { attacks, isForKilling = false }: { readonly attacks: readonly RunnerAttack[]; readonly isForKilling?: boolean },
): Runner {
  const input: RunnerInput = { directory, root, isSandboxed, attacks, isForKilling, supervision };
  const holds = holdLog(directory);
  const program = [...holds.nodeOptions, join(import.meta.dirname, "attack-runner.ts"), JSON.stringify(input)];
  const user = uid === undefined ? [] : ["setpriv", `--reuid=${uid}`, `--regid=${uid}`, "--clear-groups", "--"];
  const [command = "", ...args] = [...safetyNet, ...user, process.execPath, ...program];
  const env = { PATH: process.env["PATH"], HOME: directory, ...holds.env };
  const child = spawn(command, args, { cwd: "/", env, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  return { pid: child.pid ?? 0, outcome: firstLine(child.stdout), ended, heldMs: (since) => holds.longestSince(since) };
}

async function firstLine(output: NodeJS.ReadableStream): Promise<RunnerOutcome> {
  let said = "";
  for await (const part of output) {
    said += String(part);
    if (said.includes("\n")) return JSON.parse(said) as RunnerOutcome;
  }
  throw new Error(`the runner ended without an outcome: ${said}${await text(output).catch(() => "")}`);
}

/** The processes with a word in their command line. */
export function processesWith(word: string): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && pid !== process.pid && commandLine(pid).split("\0").includes(word));
}

function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** The processes that a process has started. */
export function childrenOf(parent: number): readonly number[] {
  return readdirSync("/proc")
    .map(Number)
    .filter((pid) => Number.isInteger(pid) && parentOf(pid) === parent);
}

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return 0;
  }
}
