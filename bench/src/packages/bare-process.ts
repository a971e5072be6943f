// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../../tools/peers/free-port.ts";
import type { PackagePlane } from "./plane.ts";
import type { BenchProgram } from "./programs.ts";

/** The same program as in a package, started by the benchmark. */
export interface BareProcess extends AsyncDisposable {
  readonly pid: number;
  readonly endpoint: string;
}

/** A sandbox of the plainest kind. */
export const plainSandbox: readonly string[] = [
  ...["bwrap", "--unshare-user", "--unshare-pid", "--die-with-parent"],
  ...["--dev-bind", "/", "/", "--"],
];

/** Starts a program with certificates of the control plane and returns as soon as it accepts connections. */
export async function startBare(
  plane: PackagePlane,
  program: BenchProgram,
  around: readonly string[] = [],
): Promise<BareProcess> {
  const certificates = await plane.processes.certificates("bare");
  const port = await freePort();
  const [command = "", ...args] = [...around, ...program.command(plane)];
  const flags = [`--address=127.0.0.1:${port}`, `--tls-certs-dir=${certificates}`];
  // In a session of its own, as functions of packages are: to the scheduler of a busy machine that makes a difference.
  const options = { stdio: "ignore", detached: true, env: { PATH: "/usr/bin:/bin" } } as const;
  const child = spawn(command, [...args, ...flags], options);
  while (!(await accepts(port))) {
    if (child.exitCode !== null) throw new Error(`${command} left with ${child.exitCode}`);
    await delay(1);
  }
  return {
    pid: child.pid ?? 0,
    endpoint: `127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      const exit = once(child, "exit");
      if (child.kill("SIGKILL")) await exit;
    },
  };
}

async function accepts(port: number): Promise<boolean> {
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
