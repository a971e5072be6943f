// SPDX-License-Identifier: Apache-2.0
import type { Case } from "./case.ts";

/** The options of a run. */
export interface RunOptions {
  /** Parts of titles; all cases when empty. */
  readonly only: readonly string[];
  /** Compares two reference servers with each other: what differs then is the suite's fault. */
  readonly referenceOnly: boolean;
  /** Where to write every transcript. */
  readonly transcripts: string | undefined;
  /** Where what is random begins. */
  readonly seed: number;
  /** How many times as much of what is random. */
  readonly runs: number;
}

/** Reads the options from the arguments of the program, or from the environment when a test runner starts it. */
export function readOptions(args: readonly string[], env: Readonly<Record<string, string | undefined>>): RunOptions {
  const value = (flag: string): string | undefined =>
    args.find((arg) => arg.startsWith(`--${flag}=`))?.slice(flag.length + 3);
  const only = value("only") ?? env["CONFORMANCE_ONLY"] ?? "";
  return {
    only: only.split(",").filter((part) => part !== ""),
    referenceOnly: args.includes("--reference-only") || env["CONFORMANCE_REFERENCE_ONLY"] === "1",
    transcripts: value("transcripts") ?? env["CONFORMANCE_TRANSCRIPTS"],
    seed: Number(value("seed") ?? env["CONFORMANCE_SEED"] ?? 1),
    runs: Number(value("runs") ?? env["CONFORMANCE_RUNS"] ?? 1),
  };
}

/** Whether a case is selected. */
export function isWanted(one: Case, { only }: RunOptions): boolean {
  return only.length === 0 || only.some((part) => one.title.includes(part));
}
