// SPDX-License-Identifier: Apache-2.0
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** What `hold-meter.mjs` notes inside the program under test. */
export interface HoldLog {
  /** For the program's Node: `--import=…`. */
  readonly nodeOptions: readonly string[];
  /** For the program's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Most CPU time, in ms, that one turn of the event loop took among those that ended at or after this time. */
  longestSince(sinceMs: number): number;
}

/** A hold log in this directory. Give its options and environment to the program to be measured. */
export function holdLog(directory: string): HoldLog {
  const file = join(directory, "hold-log");
  const meter = pathToFileURL(join(import.meta.dirname, "hold-meter.mjs")).href;
  return {
    nodeOptions: [`--import=${meter}`],
    env: { HOLD_METER_FILE: file },
    longestSince: (sinceMs) =>
      Math.max(
        0,
        ...readHolds(file)
          .filter(([end]) => end >= sinceMs)
          .map(([, held]) => held),
      ),
  };
}

function readHolds(file: string): (readonly [end: number, held: number])[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => {
      const [end, held] = line.split(" ");
      return [Number(end), Number(held)] as const;
    });
}
