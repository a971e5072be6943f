// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { privateNetworkArguments } from "./sandbox-arguments.ts";

/** Whether functions can be shut in on this machine, and if not, why. */
export type SandboxSupport =
  | { readonly isSupported: true; readonly program: string }
  | { readonly isSupported: false; readonly reason: string };

const run = promisify(execFile);
/** Much longer than it takes, also on a machine with much to do: what is not answered by then counts as not supported. */
const timeoutMs = 60_000;

/** Looks for bubblewrap and tries it: some machines have it and forbid what it does. */
export async function findSandbox(program = "bwrap"): Promise<SandboxSupport> {
  try {
    // One inside the other, as it will be used.
    const inner = [program, "--unshare-user", "--unshare-pid", "--ro-bind", "/", "/", "--proc", "/proc", "--", "true"];
    await run(program, privateNetworkArguments(inner), { timeout: timeoutMs });
    return { isSupported: true, program };
  } catch (error) {
    const { code, stderr = "" } = error as NodeJS.ErrnoException & { stderr?: string };
    if (code === "ENOENT") return { isSupported: false, reason: `${program} is not installed` };
    const said = stderr.trim().split("\n")[0];
    return { isSupported: false, reason: `${program} does not work here${said ? `: ${said}` : ""}` };
  }
}
