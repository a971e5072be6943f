// SPDX-License-Identifier: Apache-2.0
// Runs hostile functions as a control plane does, beside an honest one, and prints the outcome of each: attack-runner.ts JSON
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import {
  createFunctionProcesses,
  type FunctionProcess,
  findSandbox,
  functionLogFolder,
  type SupervisionOptions,
} from "@purlin/function-process";

/** What to run, and how. */
export interface RunnerInput {
  /** An unpacked image with the hostile program. */
  readonly root: string;
  readonly directory: string;
  readonly isSandboxed: boolean;
  readonly supervision: SupervisionOptions;
  readonly attacks: readonly RunnerAttack[];
  /** Start them all and continue for ever: to be killed. */
  readonly isForKilling?: boolean;
}

/** One hostile function. */
export interface RunnerAttack {
  readonly name: string;
  readonly token: string;
  readonly limits: object;
  /** Until its state or log shows the outcome: this long at most. */
  readonly untilMs: number;
  /** What is waited for in its problem or log. */
  readonly awaits: string;
  /** Without a text: how many processes are waited for. */
  readonly processes?: number | undefined;
}

/** The outcome of one hostile function. */
export interface AttackOutcome {
  readonly name: string;
  readonly problem: string;
  readonly log: string;
  readonly logBytes: number;
  /** How many of its processes there were at the end. */
  readonly processes: number;
}

/** The outcome of all of them. */
export interface RunnerOutcome {
  readonly mechanism: string;
  /** When the first attack began. */
  readonly beganAt: number;
  readonly outcomes: readonly AttackOutcome[];
  /** The honest function after all of it. */
  readonly honest: { readonly phase: string; readonly isSame: boolean };
}

async function main(input: RunnerInput): Promise<void> {
  const { directory, root, isSandboxed, supervision } = input;
  const sandbox = isSandboxed ? await findSandbox() : undefined;
  if (sandbox?.isSupported === false) throw new Error(sandbox.reason);
  const processes = createFunctionProcesses({ directory, env: { PATH: process.env["PATH"] }, supervision });
  const honest = processes.run({
    name: "honest",
    cwd: "/",
    program: { kind: "source", file: join(import.meta.dirname, "honest-function.ts") },
  });
  const before = (await honest.served()).version;
  const beganAt = Date.now();
  const start = ({ name, token, limits }: RunnerAttack): FunctionProcess =>
    processes.run({
      name,
      cwd: "/",
      limits,
      program: {
        kind: "image",
        root,
        process: {
          entrypoint: ["/usr/bin/node", "/function/hostile-program.mjs", name.split(".")[0] ?? "", token],
          ...{ cmd: [], env: [], workingDir: "/", user: "" },
        },
        env: {},
        needsNode: true,
        sandbox: sandbox?.isSupported === true ? sandbox : undefined,
        socket: join(directory, `s-${name}`),
      },
    });
  const log = (name: string): string => join(directory, functionLogFolder, name, `${name}.log`);
  const outcomes: AttackOutcome[] = [];
  const run = async (attack: RunnerAttack): Promise<void> => {
    const running = start(attack);
    const problem = await problemOf(running, attack, () => textOf(log(attack.name)));
    outcomes.push({
      name: attack.name,
      problem,
      log: textOf(`${log(attack.name)}.1`).slice(-2_000) + textOf(log(attack.name)).slice(-2_000),
      processes: processesWith(attack.token).length,
      logBytes: sizeOf(log(attack.name)) + sizeOf(`${log(attack.name)}.1`),
    });
    if (input.isForKilling !== true) await processes.stop(attack.name);
  };
  const waiting = [...input.attacks];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await run(next);
  };
  await Promise.all([work(), work(), work()]);
  const isSame = (await honest.served()).version === before;
  const outcome: RunnerOutcome = {
    beganAt,
    mechanism: processes.mechanism,
    outcomes,
    honest: { phase: honest.state.phase, isSame },
  };
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
  if (input.isForKilling === true) setInterval(() => {}, 1_000);
  else await processes.close();
}

/** Waits until a function shows what is awaited. */
async function problemOf(running: FunctionProcess, attack: RunnerAttack, log: () => string): Promise<string> {
  const end = Date.now() + attack.untilMs;
  const problems = new Set<string>();
  while (Date.now() < end) {
    const { state } = running;
    if (state.phase === "failed") problems.add(state.problem);
    const all = [...problems].join("\n");
    if (attack.processes !== undefined && processesWith(attack.token).length >= attack.processes) return all;
    if (attack.awaits !== "" && `${all}\n${log()}`.includes(attack.awaits)) return all;
    await delay(50);
  }
  return [...problems].join("\n");
}

function processesWith(token: string): readonly string[] {
  return readdirSync("/proc").filter(
    (name) =>
      /^\d+$/.test(name) && Number(name) !== process.pid && textOf(`/proc/${name}/cmdline`).split("\0").includes(token),
  );
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

function sizeOf(file: string): number {
  return existsSync(file) ? statSync(file).size : 0;
}

if (import.meta.main) await main(JSON.parse(process.argv[2] ?? "{}") as RunnerInput);
