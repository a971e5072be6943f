// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { closeSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { constants } from "node:os";
import { basename, dirname } from "node:path";
import type { Enclosure } from "../limits/containment.ts";

const table = "/proc/self";
/** Standard input, output and error. */
const standard = 2;
/** O_CLOEXEC, as /proc writes the flags of a descriptor: octal. */
const closeOnExec = 0o2000000;

let isDone = false;

/**
 * Closes the file descriptors that this process inherited, apart from its standard streams: a child would inherit them as well, and a
 * function could read and write whatever they refer to. Everything that Node opens is marked close-on-exec, so a descriptor without the mark
 * came from the parent process. Node marks only the first few inherited ones itself. A second call does nothing.
 *
 * Where there is no /proc, Node starts children without inherited descriptors (macOS).
 */
export function closeInheritedDescriptors(): void {
  if (isDone) return;
  isDone = true;
  for (const descriptor of openDescriptors()) {
    if (descriptor > standard && isInherited(descriptor)) closeSync(descriptor);
  }
}

function openDescriptors(): readonly number[] {
  try {
    return readdirSync(`${table}/fd`).map(Number);
  } catch {
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s+(\d+)/m.exec(readFileSync(`${table}/fdinfo/${descriptor}`, "utf8"))?.[1];
    if (flags === undefined || (Number.parseInt(flags, 8) & closeOnExec) !== 0) return false;
    return !isProfile(readlinkSync(`${table}/fd/${descriptor}`));
  } catch {
    // It was the descriptor of the listing itself.
    return false;
  }
}

/** V8 writes profiles through descriptors without the mark (`--prof`, `--perf-basic-prof`); their names contain the process number. */
function isProfile(target: string): boolean {
  return /^(perf|jit|isolate)/.test(basename(target)) && basename(target).includes(String(process.pid));
}

/** A program to run. */
export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  /** All of its environment: nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
}

/**
 * Runs beside a program and ends it when this process is gone for any reason: a killed process cannot clean up, and a function in an endless
 * loop notices nothing, so neither of the two can be relied on. The guard's standard
 * input is a pipe without data; its end is the sign. File descriptors 3 to 6 are the program's own. The shell's own
 * report of a signal ("Terminated") is discarded, because it would appear in the log of the program. Its first two words are shell texts
 * of what holds the program and its descendants together: one to begin with, one to end all of them when this process is gone.
 */
const guard = `
eval "$1"
teardown=$2
shift 2
trap : TERM INT HUP
exec 9<&0
"$@" </dev/null 9<&- &
child=$!
exec 3>&- 4<&- 5<&- 6<&-
(
  trap '' TERM INT HUP
  while read -r line; do :; done
  kill -TERM "$child"
  sleep 2
  eval "$teardown"
  kill -KILL 0
) <&9 2>/dev/null &
while :; do
  wait "$child" 2>/dev/null
  code=$?
  kill -0 "$child" 2>/dev/null || exit "$code"
done
`;

/** A program that ends when this process does, with everything it has started. */
export interface GuardedProcess {
  readonly child: ChildProcess;
  /** Resolves to how it ended, in words. Everything it started is gone by then, and everything it wrote has been read. */
  readonly ended: Promise<string>;
  /** What holds it and its descendants together. */
  readonly enclosure?: Enclosure | undefined;
  /** Sends SIGTERM, and SIGKILL after the grace period. */
  stop(graceMs: number): Promise<void>;
  kill(): void;
}

/** What a program is connected with, beside its output. */
interface GuardedOptions {
  /** Node programs can send messages. */
  readonly channel: boolean;
  /** How many pipes it reads, from file descriptor 4 on, `child.stdio[4]`: three at most, and only with a channel, which is the third. */
  readonly inlets?: number;
  /** Holds it and its descendants together, so that they end with it wherever they went; only its process group does unless given. */
  readonly enclosure?: Enclosure | undefined;
}

/** Starts a program in a process group of its own. It gets standard streams, the channel and the inlets, and no other file descriptor. */
export function spawnGuarded(program: Program, options: GuardedOptions): GuardedProcess {
  closeInheritedDescriptors();
  const { command, args, cwd, env } = program;
  const { channel, inlets = 0, enclosure } = options;
  const spawnOptions: SpawnOptions = {
    cwd,
    env: { ...env, ...enclosure?.env },
    // A group of its own: a Ctrl-C in the terminal is for the control plane, which ends its functions in order.
    detached: true,
    stdio: ["pipe", "pipe", "pipe", ...(channel ? (["ipc"] as const) : []), ...Array<"pipe">(inlets).fill("pipe")],
  };
  const texts = [enclosure?.setup ?? "", enclosure?.teardown ?? ""];
  const child = spawn("/bin/sh", ["-c", guard, "purlin-function", ...texts, command, ...args], spawnOptions);
  // The pipe breaks when the guard ends first, the exit code is the better report.
  child.stdin?.on("error", () => {});
  const ended = endOf(child, enclosure);
  const kill = (): void => {
    signalGroup(child, "SIGKILL");
    enclosure?.kill();
  };
  const stop = async (graceMs: number): Promise<void> => {
    signalGroup(child, "SIGTERM");
    const limit = setTimeout(kill, graceMs);
    await ended;
    clearTimeout(limit);
  };
  return { child, ended, enclosure, stop, kill };
}

/** A process that cannot be ended, as that of another user, may keep the pipes open: output is not waited for longer than this. */
const lastOutputMs = 2_000;

function endOf(child: ChildProcess, enclosure: Enclosure | undefined): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  child.once("error", (error) => resolve(`it could not be started: ${error.message}`));
  child.once("exit", (code, signal) => {
    // The part of the guard that waits for our end, and whatever the program left behind.
    signalGroup(child, "SIGKILL");
    const closed = closeOf(child);
    const swept = enclosure?.end() ?? Promise.resolve();
    void Promise.all([closed, swept]).then(() => resolve(signal ?? describeExit(code ?? 0)));
  });
  return promise;
}

/** Resolves when everything that was written has been read, or when it takes too long. */
function closeOf(child: ChildProcess): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const limit = setTimeout(() => {
    closePipes(child);
    resolve();
  }, lastOutputMs);
  child.once("close", () => {
    clearTimeout(limit);
    resolve();
  });
  return promise;
}

/** Closes our ends of all pipes, so that a process that holds the other ends does not keep this one from exiting. */
function closePipes(child: ChildProcess): void {
  for (const pipe of child.stdio) pipe?.destroy();
  if (child.connected) child.disconnect();
}

/** A shell reports the signal that ended a program as its number above 128. */
function describeExit(code: number): string {
  const signal = Object.entries(constants.signals).find(([, number]) => number === code - 128)?.[0];
  return signal ?? `exit code ${code}`;
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signal);
  } catch {
    // The group is empty.
  }
}

/** What a program needs to find other programs, write temporary files and know its locale and time zone. */
const harmless = new Set(["PATH", "TMPDIR", "LANG", "TZ"]);

/**
 * The part of an environment that functions get. Functions are third-party code and must not see the tokens and passwords of the user who
 * started the control plane.
 */
export function cleanEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (harmless.has(name) || name.startsWith("LC_"))) kept[name] = value;
  }
  return kept;
}

/**
 * The environment of a function that runs from a source file. It shares the compile cache of this process, if there is one, and starts in half the
 * CPU time. Such a function runs as this user without a sandbox, so the folder gives it no access that it lacks. `directory` is the folder as Node
 * reports it: one for its version, inside the folder it was given.
 */
export function withCompileCache(
  env: Readonly<Record<string, string>>,
  directory: string | undefined,
): Readonly<Record<string, string>> {
  return directory === undefined ? env : { ...env, NODE_COMPILE_CACHE: dirname(directory) };
}
