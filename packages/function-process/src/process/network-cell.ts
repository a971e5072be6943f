// SPDX-License-Identifier: Apache-2.0
import type { ChildProcess } from "node:child_process";
import type { Writable } from "node:stream";
import { cappedCommand } from "../limits/limit-script.ts";
import { connectorProgram } from "../sandbox/connector-program.ts";
import {
  type CellCommand,
  cellArguments,
  firstInput,
  inputCount,
  type Sandbox,
  shellCommand,
} from "../sandbox/sandbox-arguments.ts";
import { type UnsharedNetwork, unsharedCell } from "../sandbox/unshared-network.ts";
import { type GuardedProcess, spawnGuarded } from "./guarded-process.ts";
import { defaultPath } from "./image-process.ts";
import { processesBelow } from "./processes-below.ts";
import type { Supervision } from "./supervision.ts";

/** A private network with a connector in it, for one function. */
export interface NetworkCell {
  readonly process: GuardedProcess;
  /** Starts the function. Once. */
  start(command: CellCommand): void;
}

/** What holds a cell together. */
type CellSupervision = Pick<Supervision, "containment" | "limits">;

/** Functions listen here unless they are told otherwise, and some cannot be told. */
export const defaultPort = "9443";

/** The file descriptor through which a cell is told what to run. */
const commandDescriptor = 4;

/** What makes private networks: bubblewrap, or the system where that is missing. */
export type CellMaker = Sandbox | UnsharedNetwork;

/** Opens a cell. It ends with its function, and with this process. */
export function openCell(maker: CellMaker, supervision?: CellSupervision): NetworkCell {
  const connector = { node: process.execPath, program: connectorProgram, port: defaultPort };
  const cell = "unshare" in maker ? unsharedCell(maker, connector) : [maker.program, ...cellArguments(connector)];
  const [command = "", ...words] = inPidNamespace(cell, supervision);
  const program = { command, args: words, cwd: "/", env: { PATH: defaultPath } };
  const enclosure = supervision?.containment.enclose();
  const guarded = spawnGuarded(program, { channel: true, inlets: 1 + inputCount, enclosure });
  const write = (descriptor: number, bytes: string | Buffer = ""): void => {
    const inlet = guarded.child.stdio?.[descriptor] as Writable | null | undefined;
    inlet?.end(bytes);
  };
  // A cell that ended before it was told anything says so by its end.
  for (const inlet of guarded.child.stdio?.slice(commandDescriptor) ?? []) inlet?.on("error", () => {});
  return {
    process: withSandbox(guarded),
    start(command) {
      write(commandDescriptor, shellCommand(command));
      for (let at = 0; at < inputCount; at++) write(firstInput + at, command.inputs[at]);
    },
  };
}

/** Root's processes are not counted in a user namespace, but the largest pid of a PID namespace caps them. */
function inPidNamespace(command: readonly string[], supervision: CellSupervision | undefined): readonly string[] {
  const namespace = supervision?.containment.namespace;
  return supervision !== undefined && namespace?.ownPidMax === true
    ? cappedCommand(command, namespace, supervision.limits)
    : command;
}

/**
 * A sandbox leaves the process group of its cell, and ends when its parent does. But while it is being made there is a moment in which it has
 * left and would not hear that its parent has died: ended in that moment, the function would go on for ever. So the group is held while all
 * below it are looked for, that nobody is started meanwhile, and each of them is ended, wherever it has gone.
 */
function withSandbox(guarded: GuardedProcess): GuardedProcess {
  const { child } = guarded;
  return {
    ...guarded,
    kill() {
      const all = holdAll(child);
      guarded.kill();
      endAll(all);
    },
    async stop(graceMs) {
      const all = holdAll(child);
      const stopped = guarded.stop(graceMs);
      // A sandbox that is asked to end does so at once, with all that is in it. The guard hears of it when it goes on.
      endAll(all);
      signal(-(child.pid ?? 0), "SIGCONT");
      await stopped;
    },
  };
}

/** Holds the process group of a child. Returns all that was started below it. */
function holdAll({ pid, exitCode, signalCode }: ChildProcess): readonly number[] {
  if (pid === undefined || exitCode !== null || signalCode !== null) return [];
  signal(-pid, "SIGSTOP");
  return processesBelow(pid);
}

function endAll(all: readonly number[]): void {
  for (const pid of all) signal(pid, "SIGKILL");
}

function signal(pid: number, name: NodeJS.Signals): void {
  // 0 would be our own group.
  if (pid === 0) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
