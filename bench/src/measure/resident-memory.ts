// SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";

/** The resident memory of a process in MiB. Linux only, as the file is. */
export function residentMemory(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kibibytes = /^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1];
  if (kibibytes === undefined) throw new Error(`/proc/${pid}/status shows no VmRSS; is the process gone?`);
  return Number(kibibytes) / 1024;
}
