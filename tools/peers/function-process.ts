// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "./free-port.ts";

/** How to start a function as a child process on a given port. */
export interface FunctionCommand {
  readonly program: string;
  /** The arguments that make it listen on `address`. */
  readonly args: (address: string) => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Its port; a free one unless given. */
  readonly port?: number;
}

/** A function that runs and accepts connections. Disposing of it stops it. */
export interface FunctionProcess extends AsyncDisposable {
  readonly pid: number;
  readonly port: number;
  /** What it has printed so far, both streams. */
  readonly output: () => string;
  /** Asks it to stop, waits for its end, and says how it ended; kills it when it takes longer than `graceMs`. */
  readonly stop: (graceMs?: number) => Promise<Exit>;
}

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const startTimeoutMs = 120_000;
const defaultGraceMs = 60_000;

/** Starts a function on a free port of the loopback interface and waits until it accepts connections. */
export async function startFunction({ program, args, env, port: wanted }: FunctionCommand): Promise<FunctionProcess> {
  const port = wanted ?? (await freePort());
  const child = spawn(program, args(`127.0.0.1:${port}`), {
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const printed: string[] = [];
  child.stdout.on("data", (chunk) => printed.push(String(chunk)));
  child.stderr.on("data", (chunk) => printed.push(String(chunk)));
  const output = (): string => printed.join("");
  const stop = (graceMs = defaultGraceMs): Promise<Exit> => stopProcess(child, graceMs);
  try {
    await accepts(child, port);
  } catch (error) {
    await stop();
    throw new Error(`${program} ${args(`127.0.0.1:${port}`).join(" ")}: ${String(error)}\n${output()}`, {
      cause: error,
    });
  }
  const dispose = async (): Promise<void> => void (await stop());
  return { pid: child.pid as number, port, output, stop, [Symbol.asyncDispose]: dispose };
}

async function accepts(child: ChildProcess, port: number): Promise<void> {
  let isOver = false;
  const failed = new Promise<never>((_, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => reject(new Error(`it ended (${code ?? signal}) before it listened`)));
  });
  const deadline = performance.now() + startTimeoutMs;
  const poll = async (): Promise<void> => {
    while (!isOver && !(await canConnect(port))) {
      if (performance.now() > deadline) throw new Error(`it did not listen within ${startTimeoutMs} ms`);
      await delay(20);
    }
  };
  try {
    await Promise.race([failed, poll()]);
  } finally {
    // The waiting loop ends.
    isOver = true;
  }
}

async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

async function stopProcess(child: ChildProcess, graceMs: number): Promise<Exit> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = once(child, "exit");
    const kill = setTimeout(() => child.kill("SIGKILL"), graceMs);
    child.kill("SIGTERM");
    await exited;
    clearTimeout(kill);
  }
  return { code: child.exitCode, signal: child.signalCode };
}
