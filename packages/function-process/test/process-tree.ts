// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

export { processesBelow } from "../src/limits/marked-processes.ts";

/** The words a process was started with, each ended by a NUL. None when it has ended meanwhile. */
export function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
