// SPDX-License-Identifier: Apache-2.0
import { parseGoDuration } from "../go-duration.ts";
import { type CronFields, CronSyntaxError, parseFields } from "./cron-fields.ts";
import { type TimeZone, timeZoneOf } from "./time-zone.ts";

/** When something runs. Times are milliseconds since the epoch. */
export interface CronSchedule {
  /** The first time after a given one; undefined when there is none within five years. */
  next(after: number): number | undefined;
  /** The last time later than `after` and not later than `until`; undefined when there is none. */
  last(window: { readonly after: number; readonly until: number }): number | undefined;
}

const descriptors: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const longestMs = 5 * 366 * 24 * hourMs;

/**
 * Parses a cron schedule in the dialect of Go's robfig/cron: five fields, descriptors, `@every`, and a prefix `TZ=` or
 * `CRON_TZ=`. Throws a CronSyntaxError with the text of that library.
 * @param timeZone the zone of a schedule without a prefix; UTC unless given
 */
export function parseCron(text: string, timeZone = ""): CronSchedule {
  if (text === "") throw new CronSyntaxError("empty spec string");
  const [prefix, name, rest = ""] = /^(?:CRON_)?TZ=(\S*)(?:\s+(.*))?$/s.exec(text) ?? [];
  if (prefix === undefined) return parseWithoutZone(text, zoneNamed(timeZone));
  if (!/\s/.test(prefix)) throw new CronSyntaxError(`no schedule after the time zone: ${text}`);
  return parseWithoutZone(rest.trim(), zoneNamed(name ?? ""));
}

/** Whether a name is that of a time zone. */
export function isTimeZone(name: string): boolean {
  return timeZoneOf(name) !== undefined;
}

function zoneNamed(name: string): TimeZone {
  const zone = timeZoneOf(name);
  if (zone === undefined) throw new CronSyntaxError(`provided bad location ${name}: unknown time zone ${name}`);
  return zone;
}

function parseWithoutZone(text: string, zone: TimeZone): CronSchedule {
  if (!text.startsWith("@")) return fieldSchedule(parseFields(text), zone);
  const known = Object.hasOwn(descriptors, text) ? descriptors[text] : undefined;
  if (known !== undefined) return fieldSchedule(parseFields(known), zone);
  if (!text.startsWith("@every ")) throw new CronSyntaxError(`unrecognized descriptor: ${text}`);
  const duration = text.slice("@every ".length);
  const ms = parseGoDuration(duration);
  if (ms === undefined) {
    const problem = `time: invalid duration ${JSON.stringify(duration)}`;
    throw new CronSyntaxError(`failed to parse duration ${text}: ${problem}`);
  }
  return everySchedule(Math.max(1000, Math.floor(ms / 1000) * 1000));
}

function everySchedule(delayMs: number): CronSchedule {
  const start = (after: number): number => Math.floor(after / 1000) * 1000;
  return {
    next: (after) => start(after) + delayMs,
    last({ after, until }) {
      const count = Math.floor((until - start(after)) / delayMs);
      return count < 1 ? undefined : start(after) + count * delayMs;
    },
  };
}

function fieldSchedule(fields: CronFields, zone: TimeZone): CronSchedule {
  const isEmpty = [fields.minutes, fields.hours, fields.months].some((values) => values.size === 0);
  const next = (after: number): number | undefined => (isEmpty ? undefined : nextTime(fields, zone, after));
  return { next, last: ({ after, until }) => lastTime(next, after, until) };
}

/** Searches one period of the zone after the other; a local time that occurs twice is found twice, a skipped one never. */
function nextTime(fields: CronFields, zone: TimeZone, after: number): number | undefined {
  let from = after + 1;
  const limit = after + longestMs;
  while (from <= limit) {
    const { offset, end } = zone.periodAt(from);
    const wall = nextWall(fields, from + offset, Math.min(end, limit + 1) + offset);
    if (wall !== undefined) return wall - offset;
    from = end;
  }
  return undefined;
}

/** The first matching local time in `[from, end)`. */
function nextWall(fields: CronFields, from: number, end: number): number | undefined {
  let wall = Math.ceil(from / minuteMs) * minuteMs;
  while (wall < end) {
    const candidate = nextCandidate(fields, new Date(wall));
    if (candidate === wall) return wall;
    wall = candidate;
  }
  return undefined;
}

/** The same time if it matches, else the earliest time that may match. */
function nextCandidate(fields: CronFields, at: Date): number {
  const [year, month, day, hour] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours()];
  if (!fields.months.has(month + 1)) return Date.UTC(year, month + 1, 1);
  if (!isDay(fields, at)) return Date.UTC(year, month, day + 1);
  if (!fields.hours.has(hour)) return Date.UTC(year, month, day, hour + 1);
  return fields.minutes.has(at.getUTCMinutes()) ? at.getTime() : at.getTime() + minuteMs;
}

function isDay({ days, weekdays, isEitherDay }: CronFields, at: Date): boolean {
  const [ofMonth, ofWeek] = [days.has(at.getUTCDate()), weekdays.has(at.getUTCDay())];
  return isEitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** Bisects, as there may be millions of times. */
function lastTime(next: CronSchedule["next"], after: number, until: number): number | undefined {
  const first = next(after);
  if (first === undefined || first > until) return undefined;
  let [found, end] = [first, until];
  while (end - found > 1) {
    const middle = Math.floor((found + end) / 2);
    const candidate = next(middle);
    if (candidate !== undefined && candidate <= until) found = candidate;
    else end = middle;
  }
  return found;
}
