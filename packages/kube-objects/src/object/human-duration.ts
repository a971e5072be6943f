// SPDX-License-Identifier: Apache-2.0

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** A duration the way kubectl shows ages: few digits, coarser the longer it is. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return withRest(seconds, { unit: minute, name: "m", rest: second, restName: "s" });
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return withRest(seconds, { unit: hour, name: "h", rest: minute, restName: "m" });
  if (seconds < 48 * hour) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return withRest(seconds, { unit: day, name: "d", rest: hour, restName: "h" });
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return withRest(seconds, { unit: year, name: "y", rest: day, restName: "d" });
  return `${Math.floor(seconds / year)}y`;
}

interface Units {
  readonly unit: number;
  readonly name: string;
  readonly rest: number;
  readonly restName: string;
}

function withRest(seconds: number, { unit, name, rest, restName }: Units): string {
  const left = Math.floor((seconds % unit) / rest);
  return `${Math.floor(seconds / unit)}${name}${left === 0 ? "" : `${left}${restName}`}`;
}

/** The age of a timestamp: `<unknown>` without a timestamp, `<invalid>` when it is not a time. */
export function ageOf(timestamp: unknown, now: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === "") return "<unknown>";
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(time) ? "<invalid>" : humanDuration(now - time);
}
