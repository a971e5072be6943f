// SPDX-License-Identifier: Apache-2.0
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { endGroups } from "./control-groups.ts";
import { endMarked, type MarkedRun } from "./marked-processes.ts";
import { readStat } from "./process-list.ts";

/** What is written down about a run of the control plane, for the next one: a killed process cannot clean up. */
interface RunRecord extends MarkedRun {
  /** Another one after each start of the machine. */
  readonly boot: string;
  readonly pid: number;
  /** The folder of its control groups. */
  readonly groups?: string | undefined;
}

const fileName = "processes.json";

/** Ends what a former run in this folder left behind. Does nothing while that run is still going on. Returns how many processes it found. */
export async function endLeftovers(directory: string): Promise<number> {
  const record = readRecord(directory);
  if (record === undefined || record.boot !== bootId() || record.uid !== process.getuid?.()) return 0;
  if (readStat(record.pid)?.start === record.since) return 0;
  if (record.groups !== undefined) endGroups(record.groups);
  return await endMarked(record, () => true);
}

/** Writes down the run that begins. */
export function recordRun(directory: string, run: MarkedRun & { readonly groups?: string | undefined }): void {
  const record: RunRecord = { ...run, boot: bootId(), pid: process.pid };
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(join(directory, fileName), `${JSON.stringify(record)}\n`, { mode: 0o600 });
  } catch {
    // Without it the next run finds nothing to end; what needs the folder says what is wrong with it.
  }
}

/** The run ended in order. */
export function forgetRun(directory: string, { first }: MarkedRun): void {
  if (readRecord(directory)?.first === first) rmSync(join(directory, fileName), { force: true });
}

function readRecord(directory: string): RunRecord | undefined {
  try {
    const record = JSON.parse(readFileSync(join(directory, fileName), "utf8")) as Partial<RunRecord>;
    const { boot, pid, first, since, uid, groups } = record;
    const numbers = [pid, first, since, uid].every(Number.isSafeInteger);
    if (!numbers || typeof boot !== "string" || (groups !== undefined && typeof groups !== "string")) return undefined;
    return record as RunRecord;
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}

/** When this process was started, in ticks since boot; 0 where the kernel does not say. */
export function ownStart(): number {
  return readStat(process.pid)?.start ?? 0;
}
