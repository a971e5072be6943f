// SPDX-License-Identifier: Apache-2.0
import { fileURLToPath } from "node:url";

/** Where the function that called `below` is written: the last folder, file and line, as in `src/function.ts:12`. */
export function callerOf(below: (...args: never[]) => unknown): string {
  const holder: { stack?: string } = {};
  Error.captureStackTrace(holder, below);
  // The first line is the name of the holder, the second the caller.
  const line = holder.stack?.split("\n")[1] ?? "";
  const match = /\(?((?:file:\/\/)?[^()]*):(\d+):\d+\)?$/.exec(line);
  return match === null ? "unknown" : `${shortPath(match[1] ?? "")}:${match[2]}`;
}

function shortPath(place: string): string {
  const at = place.indexOf("file://");
  const path = at === -1 ? place.trim().replace(/^at (?:async )?/, "") : fileURLToPath(place.slice(at));
  return path.split(/[\\/]/).slice(-2).join("/");
}
