// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";

/** How a program left and what it printed. */
export interface ProgramResult {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** What to run, without a shell. */
export interface Program {
  readonly program: string;
  readonly args: readonly string[];
  readonly input?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  readonly directory?: string | undefined;
  readonly patienceMs?: number | undefined;
}

/** A program that runs until it is stopped. */
export interface RunningProgram {
  /** Resolves when `stdout` has this many lines, or the program has left. */
  lines(count: number): Promise<void>;
  /** Asks it to leave, and says how it left. */
  stop(): Promise<ProgramResult>;
  readonly ended: Promise<ProgramResult>;
}

/** Starts a program; it is killed when it exceeds its deadline. */
export function startProgram({ program, args, input, env, directory, patienceMs = 180_000 }: Program): RunningProgram {
  const child = spawn(program, args, {
    cwd: directory,
    env: { ...process.env, ...env },
    timeout: patienceMs,
    killSignal: "SIGKILL",
    stdio: "pipe",
  });
  const printed = { stdout: "", stderr: "" };
  const ended = endOf(child, printed);
  let onOutput = (): void => {};
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (chunk: string) => {
      printed[stream] += chunk;
      onOutput();
    });
  }
  child.stdin.on("error", () => {});
  child.stdin.end(input ?? "");

  async function lines(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    onOutput = () => {
      if (printed.stdout.split("\n").length > count) resolve();
    };
    onOutput();
    await Promise.race([promise, ended]);
  }

  async function stop(): Promise<ProgramResult> {
    child.kill("SIGINT");
    return ended;
  }

  return { lines, stop, ended };
}

/** Runs a program to its end. */
export function runProgram(program: Program): Promise<ProgramResult> {
  return startProgram(program).ended;
}

function endOf(child: ChildProcess, printed: { stdout: string; stderr: string }): Promise<ProgramResult> {
  const { promise, resolve, reject } = Promise.withResolvers<ProgramResult>();
  child.on("error", reject);
  child.on("close", (exitCode) => resolve({ exitCode, ...printed }));
  return promise;
}
