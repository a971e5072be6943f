// SPDX-License-Identifier: Apache-2.0
import type { ChildProcess } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { Writable } from "node:stream";
import type { Clock } from "@purlin/base";
import { cappedCommand } from "../limits/limit-script.ts";
import { processesBelow } from "../limits/marked-processes.ts";
import { type UnsharedNetwork, unsharedNetworkCommand } from "../sandbox/private-network.ts";
import {
  firstInput,
  inputCount,
  type NetworkCommand,
  type Sandbox,
  sandboxNetworkArguments,
  shellCommand,
} from "../sandbox/sandbox-arguments.ts";
import { type GuardedProcess, spawnGuarded } from "../spawn/guarded-process.ts";
import type { Supervision } from "../spawn/supervision.ts";
import { defaultPath } from "./image-command.ts";

/** A private network with a connector in it, for one function. */
export interface SandboxNetwork {
  readonly process: GuardedProcess;
  /** Starts the function. Once. */
  start(command: NetworkCommand): void;
}

/** What supervises the processes of a network. */
type NetworkSupervision = Pick<Supervision, "containment" | "limits">;

/** The default port of functions; some cannot be configured to use another. */
export const defaultPort = "9443";

/** The file descriptor from which the shell of the network reads the command to run. */
const commandDescriptor = 4;

/** What creates private networks: bubblewrap, or `unshare` where bubblewrap is missing. */
export type NetworkMaker = Sandbox | UnsharedNetwork;

/** What the network of a Provider has beyond that of a function. */
export interface NetworkShape {
  /** The ports at which the network forwards connections to this process; those after the first where it may listen. */
  readonly inward?: readonly number[] | undefined;
  /** Leaves the program in the network of this machine. */
  readonly isShared?: boolean | undefined;
}

/** The options of a sandbox network. */
interface NetworkOptions extends NetworkShape {
  readonly supervision?: NetworkSupervision | undefined;
}

/** Opens a sandbox network. It ends with its function, and with this process. */
export function openSandboxNetwork(
  maker: NetworkMaker,
  { supervision, inward = [], isShared }: NetworkOptions = {},
): SandboxNetwork {
  // A bubblewrap with the setuid bit gives no capabilities.
  const mayBind = inward.length > 0 && "canDisableUserns" in maker && maker.canDisableUserns;
  const port = [defaultPort, ...inward].join(":");
  const connector = { node: process.execPath, program: connectorProgram(), port, isShared, mayBind };
  const inNetwork =
    "unshare" in maker
      ? unsharedNetworkCommand(maker, connector)
      : [maker.program, ...sandboxNetworkArguments(connector)];
  const [command = "", ...words] = inPidNamespace(inNetwork, supervision);
  const program = { command, args: words, cwd: "/", env: { PATH: defaultPath } };
  const enclosure = supervision?.containment.enclose();
  const guarded = spawnGuarded(program, { channel: true, inlets: 1 + inputCount, enclosure });
  const write = (descriptor: number, bytes: string | Buffer = ""): void => {
    const inlet = guarded.child.stdio?.[descriptor] as Writable | null | undefined;
    inlet?.end(bytes);
  };
  // A network that ended before it got its command reports that by its exit, not by a write error.
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
function inPidNamespace(command: readonly string[], supervision: NetworkSupervision | undefined): readonly string[] {
  const namespace = supervision?.containment.namespace;
  return supervision !== undefined && namespace?.ownPidMax === true
    ? cappedCommand(command, namespace, supervision.limits)
    : command;
}

/**
 * A sandbox leaves the process group of its network and ends when its parent does. While bubblewrap sets it up there is a moment in which it
 * has left the group but does not yet get the signal of its parent's death: killed in that moment, the function would run forever. So the group
 * is stopped (SIGSTOP) while its descendants are listed, so that no new one can start, and then each descendant is killed.
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
      // A sandbox ends at once, with everything in it. The guard notices when it continues.
      endAll(all);
      signal(-(child.pid ?? 0), "SIGCONT");
      await stopped;
    },
  };
}

/** Stops the process group of a child. Returns all descendants. */
function holdAll({ pid, exitCode, signalCode }: ChildProcess): readonly number[] {
  if (pid === undefined || exitCode !== null || signalCode !== null) return [];
  signal(-pid, "SIGSTOP");
  return processesBelow(pid);
}

function endAll(all: readonly number[]): void {
  for (const pid of all) signal(pid, "SIGKILL");
}

function signal(pid: number, name: NodeJS.Signals): void {
  // 0 would signal the process group of the control plane.
  if (pid === 0) return;
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

/** Sandbox networks opened ahead of time: a network takes longer to be ready than most functions do. */
export interface SandboxNetworkPool {
  /** Opens a network for a function unless one is waiting. It is closed again if it is not taken soon. */
  warm(name: string, maker: NetworkMaker): void;
  /** The network that waits for a function, or a new one. */
  take(name: string, maker: NetworkMaker): SandboxNetwork;
  /** A new network of another shape. */
  open(maker: NetworkMaker, shape: NetworkShape): SandboxNetwork;
  /** Closes the waiting networks and opens no more. */
  close(): Promise<void>;
}

/** How long a network waits for its function. */
const waitMs = 10_000;

interface Waiting {
  readonly network: SandboxNetwork;
  readonly cancel: () => void;
}

/** Makes a pool. */
export function createSandboxNetworkPool(
  clock: Clock,
  open: (maker: NetworkMaker, shape?: NetworkShape) => SandboxNetwork = openSandboxNetwork,
): SandboxNetworkPool {
  const waiting = new Map<string, Waiting>();
  let isClosed = false;
  const remove = (name: string): SandboxNetwork | undefined => {
    const found = waiting.get(name);
    waiting.delete(name);
    found?.cancel();
    return found?.network;
  };
  return {
    warm(name, maker) {
      if (isClosed || waiting.has(name)) return;
      const network = open(maker);
      const cancel = clock.schedule(waitMs, () => remove(name)?.process.kill());
      waiting.set(name, { network, cancel });
      void network.process.ended.then(() => waiting.get(name)?.network === network && remove(name));
    },
    take: (name, maker) => remove(name) ?? open(maker),
    open: (maker, shape) => open(maker, shape),
    async close() {
      isClosed = true;
      const networks = [...waiting.keys()].flatMap((name) => remove(name) ?? []);
      for (const { process } of networks) process.kill();
      await Promise.all(networks.map(({ process }) => process.ended));
    },
  };
}

/** The program that opens sockets in a private network, as a text of JavaScript. */
export const connectorProgram = (): string =>
  readFileSync(createRequire(import.meta.url).resolve("@purlin/function-process/connector"), "utf8");
