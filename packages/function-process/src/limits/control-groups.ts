// SPDX-License-Identifier: Apache-2.0
import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { FunctionLimits } from "./function-limits.ts";

/** Control groups (version 2) for functions, in the group that this process was given. */
export interface ControlGroups {
  /** The folder of all groups of this run. */
  readonly path: string;
  /** The limits that the kernel enforces: `memory`, `pids`, `cpu`; none where only the end of groups is supported. */
  readonly controllers: ReadonlySet<string>;
  /** Makes a group for one function. Undefined when the kernel refuses. */
  create(): ControlGroup | undefined;
  close(): void;
}

/** The control group of one function. */
export interface ControlGroup {
  /** Shell text that moves the shell into it. */
  readonly enter: string;
  /** Shell text that ends everything in it, the shell included. */
  readonly end: string;
  limit(limits: FunctionLimits): void;
  /** How often the kernel refused or ended something for a limit: `oom_kill` of memory, `max` of pids. */
  count(file: "memory.events" | "pids.events", name: string): number;
  /** Ends all processes in it at once, wherever they went. */
  kill(): void;
  /** Removes it; false while something is in it. */
  remove(): boolean;
}

/** Where control groups are looked for. */
interface ControlGroupPlace {
  /** The group of this process in the file system of control groups. */
  readonly own: string;
  readonly pid: number;
  /** The process that started this one, where it is only our launcher. */
  readonly launcher?: number | undefined;
}

const wanted = ["memory", "pids", "cpu"];

/** How many this process has opened. */
let opened = 0;

/** Opens control groups below a group. Undefined when it is not delegated to this user, or ending groups is not supported. */
export function openControlGroups(place: ControlGroupPlace): ControlGroups | undefined {
  const path = join(place.own, `purlin-${place.pid}-${++opened}`);
  try {
    accessSync(join(place.own, "cgroup.procs"), constants.W_OK);
    mkdirSync(path);
  } catch {
    return undefined;
  }
  if (!attempt(() => readFileSync(join(path, "cgroup.procs")))) {
    attempt(() => rmdirSync(path));
    return undefined;
  }
  const controllers = enable(place, path);
  let last = 0;
  return {
    path,
    controllers,
    create() {
      const group = join(path, String(++last));
      return attempt(() => mkdirSync(group)) ? groupAt(group, controllers) : undefined;
    },
    close() {
      endGroups(path);
      attempt(() => rmdirSync(path));
    },
  };
}

/** Ends all groups of a run that is over, and removes what is empty. Only folders with the names that a run gives are touched. */
export function endGroups(path: string): void {
  if (!/^purlin-\d+-\d+$/.test(basename(path))) return;
  for (const name of foldersIn(path)) {
    attempt(() => writeFileSync(join(path, name, "cgroup.kill"), "1"));
    attempt(() => rmdirSync(join(path, name)));
  }
  attempt(() => rmdirSync(path));
}

/** Moves this process out of the way, as a group with limits below must not have processes of its own, and asks for the controllers. */
export function enable({ own, pid, launcher }: ControlGroupPlace, path: string): ReadonlySet<string> {
  const offered = wordsIn(join(own, "cgroup.controllers")).filter((name) => wanted.includes(name));
  if (offered.length === 0) return new Set();
  const members = wordsIn(join(own, "cgroup.procs")).map(Number);
  // Others in the group are the user's: they stay where they are, and the group goes without limits.
  if (members.some((one) => one !== pid && one !== launcher)) return new Set();
  const rest = join(own, "purlin-control-plane");
  attempt(() => mkdirSync(rest));
  for (const one of members) attempt(() => writeFileSync(join(rest, "cgroup.procs"), String(one)));
  const enabled = offered.filter((name) =>
    [own, path].every((group) => attempt(() => writeFileSync(join(group, "cgroup.subtree_control"), `+${name}`))),
  );
  return new Set(enabled);
}

/** The group of a folder, held to limits by the controllers that are enabled. */
export function groupAt(path: string, controllers: ReadonlySet<string>): ControlGroup {
  const set = (controller: string, file: string, value: string): void => {
    if (controllers.has(controller)) attempt(() => writeFileSync(join(path, file), value));
  };
  return {
    enter: `echo 0 2>/dev/null >'${path}/cgroup.procs'`,
    end: `echo 1 2>/dev/null >'${path}/cgroup.kill'`,
    limit({ memoryBytes, processes, cpus }) {
      set("memory", "memory.max", String(Math.round(memoryBytes)));
      set("memory", "memory.swap.max", "0");
      set("memory", "memory.oom.group", "1");
      set("pids", "pids.max", String(Math.round(processes)));
      set("cpu", "cpu.max", `${Math.round(cpus * cpuPeriodUs)} ${cpuPeriodUs}`);
    },
    count: (file, name) => countIn(join(path, file), name),
    kill: () => void attempt(() => writeFileSync(join(path, "cgroup.kill"), "1")),
    remove: () => attempt(() => rmdirSync(path)),
  };
}

const cpuPeriodUs = 100_000;

function countIn(file: string, name: string): number {
  const words = wordsIn(file);
  return Number(words[words.indexOf(name) + 1] ?? 0) || 0;
}

function wordsIn(file: string): string[] {
  try {
    return readFileSync(file, "utf8").split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((one) => (one.isDirectory() ? [one.name] : []));
  } catch {
    return [];
  }
}

/** Whether something could be done: the kernel refuses for many reasons, and each means only that it cannot be done here. */
function attempt(task: () => void): boolean {
  try {
    task();
    return true;
  } catch {
    return false;
  }
}

/** The group of this process; undefined where there is no file system of control groups, version 2. */
export function ownControlGroup(): string | undefined {
  try {
    const mounts = readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    // Fields before a dash: …, root, mount point, options; after it: the type.
    const mount = mounts.map((line) => line.split(" ")).find((words) => words[words.indexOf("-") + 1] === "cgroup2");
    const own = readFileSync("/proc/self/cgroup", "utf8")
      .split("\n")
      .find((line) => line.startsWith("0::"));
    if (mount?.[4] === undefined || own === undefined) return undefined;
    return join(mount[4], own.slice("0::".length));
  } catch {
    return undefined;
  }
}
