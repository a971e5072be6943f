// SPDX-License-Identifier: Apache-2.0
// Runs in a machine whose control groups (version 2) have all controllers, as the only process of a group that was delegated to it. Starts
// hostile programs in groups of their own, each with the limits of a function, and prints one line of JSON: control-group-probe.ts
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  type ControlGroup,
  openControlGroups,
  ownControlGroup,
} from "../../../../packages/function-process/src/limits/control-groups.ts";
import { defaultFunctionLimits } from "../../../../packages/function-process/src/limits/function-limits.ts";
import { createFunctionProcesses } from "../../../../packages/function-process/src/process/function-processes.ts";

/** The outcome of one hostile program. */
export interface ProbeOutcome {
  readonly signal: string | null;
  readonly oomKills: number;
  readonly refusedProcesses: number;
  readonly throttles: number;
}

/** What the machine showed. */
export interface ProbeReport {
  readonly own: string | undefined;
  readonly controllers: readonly string[];
  readonly memory: ProbeOutcome;
  readonly processes: ProbeOutcome;
  /** How often the kernel paused a program that never rests. */
  readonly cpuThrottles: number;
  readonly isRemoved: boolean;
  /** A function that the kernel ended for its memory. */
  readonly function: { readonly mechanism: string; readonly problem: string };
}

const limits = { ...defaultFunctionLimits, memoryBytes: 32 * 2 ** 20, processes: 10, cpus: 0.1 };

/** Long enough for a tenth of an emulated processor on a busy machine. */
const attackMs = 300_000;

/** Fills memory by growing a variable of the shell. */
const memoryHog = `x=0123456789abcdef; while :; do x="$x$x"; done`;
const forkBomb = `i=0; while [ $i -lt 40 ]; do sleep 30 & i=$((i+1)); done; sleep 1`;
const busy = "while :; do :; done";

/** The group names its folder only in the shell text that enters it. */
function throttlesOf({ enter }: ControlGroup): number {
  const [, path = ""] = /'(.*)\/cgroup\.procs'/.exec(enter) ?? [];
  return Number(/^nr_throttled (\d+)$/m.exec(readFileSync(join(path, "cpu.stat"), "utf8"))?.[1] ?? 0);
}

async function attack(group: ControlGroup, script: string, mostMs: number): Promise<ProbeOutcome> {
  group.limit(limits);
  const child = spawn("/bin/sh", ["-c", `${group.enter}\n${script}`], { stdio: "ignore" });
  const ended = new Promise<string | null>((resolve) => child.once("exit", (_, signal) => resolve(signal)));
  const signal = await Promise.race([ended, delay(mostMs, "still running")]);
  const outcome = {
    signal,
    oomKills: group.count("memory.events", "oom_kill"),
    refusedProcesses: group.count("pids.events", "max"),
    throttles: throttlesOf(group),
  };
  group.kill();
  await ended;
  while (!group.remove()) await delay(20);
  return outcome;
}

/** Runs a program as a control plane runs a function, and waits until its state says what is wrong with it. */
async function runFunction(command: string): Promise<ProbeReport["function"]> {
  const directory = mkdtempSync(join(tmpdir(), "state-"));
  await using processes = createFunctionProcesses({ directory, env: { PATH: "/usr/bin:/bin" } });
  const { mechanism } = processes;
  const program = { kind: "command", command: "/bin/sh", args: ["-c", command] } as const;
  const running = processes.run({ name: "hog", cwd: "/", program, limits: { memoryBytes: limits.memoryBytes } });
  const end = Date.now() + attackMs;
  while (running.state.phase !== "failed" && Date.now() < end) await delay(20);
  const { state } = running;
  return { mechanism, problem: state.phase === "failed" ? state.problem : `it is ${state.phase}` };
}

async function main(): Promise<ProbeReport> {
  const own = ownControlGroup();
  const groups = own === undefined ? undefined : openControlGroups({ own, pid: process.pid });
  if (groups === undefined) throw new Error(`no control groups in ${own}`);
  const create = (): ControlGroup => {
    const group = groups.create();
    if (group === undefined) throw new Error("the kernel refused a group");
    return group;
  };
  const memory = await attack(create(), memoryHog, attackMs);
  const processes = await attack(create(), forkBomb, attackMs);
  const { throttles: cpuThrottles } = await attack(create(), busy, 2_000);
  groups.close();
  const isRemoved = !existsSync(groups.path);
  return {
    // First moved into a group below its own, it is now the only process of that one.
    function: await runFunction(memoryHog),
    own,
    controllers: [...groups.controllers],
    memory,
    processes,
    cpuThrottles,
    isRemoved,
  };
}

console.log(`PROBE ${JSON.stringify(await main())}`);
