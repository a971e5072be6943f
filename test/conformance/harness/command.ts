// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";

/** How a command left and what it printed. */
export interface CommandResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What to run, without a shell. */
export interface CommandLine {
  readonly program: string;
  readonly args: readonly string[];
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly directory?: string | undefined;
  /** It is ended by force when it takes longer. */
  readonly patienceMs?: number | undefined;
  /** Called with the output so far; the program is killed when it returns true. */
  readonly isEnough?: ((stdout: string) => boolean) | undefined;
}

/** Runs a command to its end. */
export function runCommand({
  program,
  args,
  input = "",
  env,
  directory,
  patienceMs = 120_000,
  isEnough = () => false,
}: CommandLine): Promise<CommandResult> {
  const child = spawn(program, args, {
    cwd: directory,
    env: { ...process.env, ...env },
    timeout: patienceMs,
    killSignal: "SIGKILL",
    stdio: "pipe",
  });
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (chunk: string) => {
      printed[stream] += chunk;
      if (stream === "stdout" && isEnough(printed.stdout)) child.kill("SIGKILL");
    });
  }
  child.on("error", reject);
  child.on("close", (exitCode) => resolve({ exitCode, ...printed }));
  // A program that leaves early does not read its input; how it left says why.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  return promise;
}
