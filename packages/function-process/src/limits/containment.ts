// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import {
  type ControlGroup,
  type ControlGroups,
  endGroups,
  openControlGroups,
  ownControlGroup,
} from "./control-groups.ts";
import { findPidNamespace, type PidNamespace } from "./limit-script.ts";
import {
  createMarks,
  endMarked,
  type MarkedRun,
  markScript,
  markVariable,
  readStat,
  searchScript,
} from "./marked-processes.ts";

/** What is written down about a run of the control plane, for the next one: a killed process cannot clean up. */
interface RunRecord extends MarkedRun {
  /** Another one after each start of the machine. */
  readonly boot: string;
  readonly pid: number;
  /** The folder of its control groups. */
  readonly groups?: string | undefined;
}

const fileName = "processes.json";

/** Holds together what the functions of one control plane start, so that it can be measured and ended. */
export interface Containment {
  readonly run: MarkedRun;
  /** Undefined where this user has none. */
  readonly groups: ControlGroups | undefined;
  readonly namespace: PidNamespace | undefined;
  /** Resolves to how many processes of a former run were ended. */
  readonly leftovers: Promise<number>;
  /** For one process of a function, and everything it starts. */
  enclose(): Enclosure;
  close(): void;
}

/** What one process of a function and its descendants are held together by. */
export interface Enclosure {
  readonly mark: number;
  readonly group: ControlGroup | undefined;
  /** Shell text for the first process. */
  readonly setup: string;
  /** Shell text that ends everything when the control plane is gone. */
  readonly teardown: string;
  readonly env: Readonly<Record<string, string>>;
  /** Ends, at once, what can be ended without a search. */
  kill(): void;
  /** Ends everything that is left. */
  end(): Promise<void>;
  /** Whether the kernel ended it for its memory; known after the end. */
  isOutOfMemory(): boolean;
}

/** Which means are used; all that this machine has unless given. */
export interface ContainmentOptions {
  /** What is needed to end leftovers of this run goes here. */
  readonly directory: string;
  readonly controlGroups?: boolean | undefined;
  readonly pidNamespaces?: boolean | undefined;
}

/** Opens the containment of a control plane, and ends what a former run in the same folder left behind. */
export function openContainment(options: ContainmentOptions): Containment {
  const { directory, controlGroups = true, pidNamespaces = true } = options;
  const leftovers = endLeftovers(directory);
  const marks = createMarks();
  const run: MarkedRun = { first: marks.first, since: ownStart(), uid: process.getuid?.() ?? -1 };
  const own = controlGroups ? ownControlGroup() : undefined;
  const groups = own === undefined ? undefined : openControlGroups({ own, pid: process.pid, launcher: launcherPid() });
  recordRun(directory, { ...run, groups: groups?.path });
  const sweep = createSweep(run);
  return {
    run,
    groups,
    namespace: pidNamespaces ? findPidNamespace() : undefined,
    leftovers,
    enclose: () => enclose(marks.next(), groups?.create(), sweep),
    close() {
      groups?.close();
      forgetRun(directory, run);
    },
  };
}

/** The process that started this one, where it is only a Node that looked for a newer Node. */
function launcherPid(): number | undefined {
  try {
    return basename(readlinkSync(`/proc/${process.ppid}/exe`)).startsWith("node") ? process.ppid : undefined;
  } catch {
    return undefined;
  }
}

function enclose(mark: number, group: ControlGroup | undefined, sweep: (mark: number) => Promise<void>): Enclosure {
  let isOutOfMemory = false;
  return {
    mark,
    group,
    isOutOfMemory: () => isOutOfMemory,
    setup: [group?.enter ?? ":", markScript(mark)].join("\n"),
    teardown: [searchScript(mark), group?.end ?? ""].join("\n"),
    env: { [markVariable]: String(mark) },
    kill: () => group?.kill(),
    async end() {
      isOutOfMemory = (group?.count("memory.events", "oom_kill") ?? 0) > 0;
      group?.kill();
      await sweep(mark);
      if (group !== undefined) await removeSoon(group);
    },
  };
}

const removalMs = [0, 10, 50, 200, 1000];

/** A group can be removed when the kernel has done with its last process. */
async function removeSoon(group: ControlGroup): Promise<void> {
  for (const delay of removalMs) {
    if (delay > 0) await setTimeout(delay);
    if (group.remove()) return;
    group.kill();
  }
}

/** Ends marked processes; functions that end at the same time are looked for in one search. */
function createSweep(run: MarkedRun): (mark: number) => Promise<void> {
  let waiting: { readonly marks: Set<number>; readonly done: Promise<void> } | undefined;
  let running: Promise<void> = Promise.resolve();
  return (mark) => {
    if (waiting === undefined) {
      const marks = new Set<number>();
      const done = running.then(async () => {
        waiting = undefined;
        await endMarked(run, (one) => marks.has(one));
      });
      running = done;
      waiting = { marks, done };
    }
    waiting.marks.add(mark);
    return waiting.done;
  };
}

/** Ends what a former run in this folder left behind. Does nothing while that run is still going on. Returns how many processes it found. */
async function endLeftovers(directory: string): Promise<number> {
  const record = readRecord(directory);
  if (record === undefined || record.boot !== bootId() || record.uid !== process.getuid?.()) return 0;
  if (readStat(record.pid)?.start === record.since) return 0;
  if (record.groups !== undefined) endGroups(record.groups);
  return await endMarked(record, () => true);
}

/** Writes down the run that begins. */
function recordRun(directory: string, run: MarkedRun & { readonly groups?: string | undefined }): void {
  const record: RunRecord = { ...run, boot: bootId(), pid: process.pid };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(directory, fileName), `${JSON.stringify(record)}\n`, { mode: 0o600 });
  } catch {
    // Without it the next run finds nothing to end; what needs the folder says what is wrong with it.
  }
}

/** The run ended in order. */
function forgetRun(directory: string, { first }: MarkedRun): void {
  if (readRecord(directory)?.first === first) rmSync(join(directory, fileName), { force: true });
}

function readRecord(directory: string): RunRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(directory, fileName), "utf8")) as Partial<RunRecord>;
    const { boot, pid, first, since, uid, groups } = record;
    const numbers = [pid, first, since, uid].every(Number.isSafeInteger);
    if (!numbers || typeof boot !== "string" || (groups !== undefined && typeof groups !== "string")) return undefined;
    return record as RunRecord;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

/** When this process was started, in ticks since boot; 0 where the kernel does not say. */
export function ownStart(): number {
  return readStat(process.pid)?.start ?? 0;
}
