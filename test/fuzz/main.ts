// SPDX-License-Identifier: Apache-2.0
// `npm run fuzz [-- target… --seconds=N --seed=N --jobs=N --keep=N]`: fuzzes each parser that reads foreign bytes.
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { targets } from "./targets/index.ts";

interface Outcome {
  readonly name: string;
  readonly executions: number;
  readonly blocks: number;
  readonly pool: number;
  readonly seconds: number;
  readonly findings: ReadonlyArray<{ readonly kind: string; readonly path: string; readonly error: string }>;
}

/** Ten minutes each. */
const defaultSeconds = 600;

function fail(message: string): never {
  console.error(message);
  process.exit(2);
}

function numberOption(name: string, otherwise: number): number {
  const text = process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3);
  if (text === undefined) return otherwise;
  const value = Number(text);
  return Number.isInteger(value) && value > 0 ? value : fail(`--${name} must be a positive integer, got "${text}"`);
}

function selected(): string[] {
  const known = Object.keys(targets);
  const words = process.argv.slice(2).filter((word) => !word.startsWith("--"));
  for (const word of words) if (!known.includes(word)) fail(`unknown target "${word}": expected ${known.join(", ")}`);
  return words.length === 0 ? known : words;
}

async function fuzz(name: string): Promise<Outcome> {
  const program = fileURLToPath(new URL("./run-target.ts", import.meta.url));
  const child = spawn(process.execPath, [program, name, String(seconds), String(seed), String(keep)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  const ended = await new Promise<string>((resolve) =>
    child.once("close", (code, signal) => resolve(signal ?? String(code))),
  );
  const line = Buffer.concat(chunks).toString().trim().split("\n").at(-1) ?? "";
  try {
    return JSON.parse(line) as Outcome;
  } catch {
    const error = `the process ended early (${ended}); run it again with --seed=${seed}`;
    return { name, executions: 0, blocks: 0, pool: 0, seconds: 0, findings: [{ kind: "crash", path: "", error }] };
  }
}

const seconds = numberOption("seconds", defaultSeconds);
const seed = numberOption("seed", (Date.now() % 1_000_000) + 1);
const keep = numberOption("keep", 0);
const jobs = numberOption("jobs", availableParallelism());
const waiting = selected();
console.log(`Fuzzing ${waiting.length} targets for ${seconds} s each, ${jobs} at a time. Repeat with --seed=${seed}.`);
let failed = 0;
const work = async (): Promise<void> => {
  for (let name = waiting.shift(); name; name = waiting.shift()) {
    const { executions, blocks, findings, ...outcome } = await fuzz(name);
    const figures = `${executions} inputs, ${blocks} blocks, ${outcome.seconds.toFixed(1)} s`;
    console.log(`${findings.length === 0 ? "ok  " : "FAIL"} ${name}: ${figures}`);
    for (const { kind, path, error } of findings)
      console.log(`     ${kind} ${path}\n       ${error.replaceAll("\n", "\n       ")}`);
    failed += findings.length;
  }
};
await Promise.all(Array.from({ length: jobs }, work));
console.log(failed === 0 ? "No findings." : `${failed} findings. Inputs are stored in test/fuzz/corpus/.`);
process.exitCode = failed === 0 ? 0 : 1;
