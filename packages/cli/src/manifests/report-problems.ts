// SPDX-License-Identifier: Apache-2.0
import type { Io } from "../io.ts";
import { harmlessLine } from "../terminal/harmless.ts";
import { createStyle } from "../terminal/style.ts";
import { ApplyError } from "./apply-manifests.ts";

/** Applies, and shows each problem in a line of its own. Resolves to the exit code. */
export async function reportProblems(io: Io, apply: () => Promise<void>): Promise<number> {
  try {
    await apply();
    return 0;
  } catch (error) {
    if (!(error instanceof ApplyError)) throw error;
    const style = createStyle(io.stderr, io.env);
    for (const problem of error.problems) io.stderr.write(`${style.bad("error:")} ${harmlessLine(problem)}\n`);
    return 1;
  }
}
