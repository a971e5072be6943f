// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { findBwrap } from "./find-bwrap.ts";
import { findUnsharedNetwork, type UnsharedNetwork } from "./private-network.ts";
import { isolationArguments, privateNetworkArguments, type Sandbox } from "./sandbox-arguments.ts";
import { machineFilter } from "./seccomp/filter.ts";

/** Whether functions can be shut in on this machine, and if not, why. */
export type SandboxSupport =
  | ({
      readonly isSupported: true;
      /** What this machine's sandbox cannot do, and why. */
      readonly notice?: string | undefined;
    } & Sandbox)
  | {
      readonly isSupported: false;
      readonly reason: string;
      /** Functions can have a network of their own all the same. */
      readonly network?: UnsharedNetwork | undefined;
    };

/** Much longer than it takes, also on a machine with much to do: what is not answered by then counts as not supported. */
const timeoutMs = 60_000;

// biome-ignore lint/style/noProcessEnv: only the environment says where programs are on this machine.
const machineEnv: Readonly<Record<string, string | undefined>> = process.env;

/**
 * Looks for bubblewrap and tries it: some machines have it and forbid what it does. The program is used by the absolute path found here, so a
 * later change of the PATH does not change what runs.
 */
export async function findSandbox(
  env: Readonly<Record<string, string | undefined>> = machineEnv,
): Promise<SandboxSupport> {
  const found = findBwrap(env);
  const without = async (reason: string): Promise<SandboxSupport> => {
    return { isSupported: false, reason, network: await findUnsharedNetwork(env) };
  };
  if ("reason" in found) return without(found.reason);
  const program = found.path;
  const whole = { program, canDisableUserns: true };
  const problem = await tryOut(whole);
  if (problem === undefined) return { isSupported: true, ...whole };
  // Versions before 0.8 and those with the setuid bit cannot disable user namespaces; the filter refuses them as well.
  const weaker = { program, canDisableUserns: false };
  const last = await tryOut(weaker);
  if (last !== undefined) return without(`bwrap does not work here: ${last}`);
  const notice = `bwrap cannot disable user namespaces in the sandbox, ${otherwiseRefused()}: ${problem}`;
  return { isSupported: true, ...weaker, notice };
}

function otherwiseRefused(): string {
  return machineFilter() === undefined ? "and nothing else refuses them" : "only the system call filter refuses them";
}

/** Makes a sandbox inside a private network, as for a function. Returns what bubblewrap said against it. */
async function tryOut(sandbox: Sandbox): Promise<string | undefined> {
  const filter = machineFilter();
  const inner = [
    sandbox.program,
    ...isolationArguments(sandbox),
    ...(filter === undefined ? [] : ["--seccomp", "3"]),
    ...["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--", "/bin/sh", "-c", ":"],
  ];
  const child = spawn(sandbox.program, privateNetworkArguments(inner), {
    env: {},
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    timeout: timeoutMs,
  });
  // It may end before it reads the filter.
  const written = child.stdio[3] as Writable;
  written.on("error", () => {}).end(filter);
  const said = text(child.stderr as Readable).catch(() => "");
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    if (code === 0) return undefined;
    const [line = ""] = (await said).trim().split("\n");
    return line === "" ? `${sandbox.program} ended with exit code ${code} and no error message` : line;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
