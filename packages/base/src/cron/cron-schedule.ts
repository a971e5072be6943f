// SPDX-License-Identifier: Apache-2.0
import { parseGoDuration } from "../clock.ts";
import { type CronFields, CronSyntaxError, parseFields } from "./cron-fields.ts";

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

/** A longer schedule is refused: one that lists every value of every field is shorter, and a megabyte of commas would take half a second. */
const maxLength = 1024;

/**
 * Parses a cron schedule in the dialect of Go's robfig/cron: five fields, descriptors, `@every`, and a prefix `TZ=` or
 * `CRON_TZ=`. Throws a CronSyntaxError with the text of that library.
 * @param timeZone the zone of a schedule without a prefix; UTC unless given
 */
export function parseCron(text: string, timeZone = ""): CronSchedule {
  if (text === "") throw new CronSyntaxError("empty spec string");
  if (text.length > maxLength) throw new CronSyntaxError(`the schedule has more than ${maxLength} characters`);
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

/** A period of a time zone during which the difference to UTC does not change. */
interface ZonePeriod {
  /** Local time minus UTC, in milliseconds. */
  readonly offset: number;
  /** The first instant of the next period, or an instant up to which no change was looked for. */
  readonly end: number;
}

/** A time zone: when its clocks change. */
interface TimeZone {
  /** The period of an instant. */
  periodAt(instant: number): ZonePeriod;
}

const dayMs = 24 * 3_600_000;
/** No zone changes its clocks twice within this time. */
const stepMs = 7 * dayMs;
/** How far ahead one look searches for a change. */
const searchedSteps = 60;
const keptPeriods = 32;
const utc: TimeZone = { periodAt: () => ({ offset: 0, end: Number.POSITIVE_INFINITY }) };

// Keyed by the canonical name, so the number of entries is bounded by the number of zones.
const zones = new Map<string, TimeZone>();

/** The time zone of a name of the IANA database; undefined when there is none. UTC for an empty name and for `Local`. */
function timeZoneOf(name: string): TimeZone | undefined {
  if (name === "" || name === "UTC" || name === "Local") return utc;
  if (!/^[A-Za-z]/.test(name)) return undefined;
  try {
    const canonical = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions().timeZone;
    if (canonical === "UTC") return utc;
    const known = zones.get(canonical);
    if (known !== undefined) return known;
    const zone = createZone(canonical);
    zones.set(canonical, zone);
    return zone;
  } catch {
    return undefined;
  }
}

interface KnownPeriod extends ZonePeriod {
  readonly start: number;
}

function createZone(name: string): TimeZone {
  const offsetAt = offsets(name);
  const known: KnownPeriod[] = [];
  return {
    periodAt(instant) {
      const found = known.find(({ start, end }) => start <= instant && instant < end);
      if (found !== undefined) return found;
      const offset = offsetAt(instant);
      const period = { start: instant, offset, end: endOfPeriod(offsetAt, instant, offset) };
      known.push(period);
      if (known.length > keptPeriods) known.shift();
      return period;
    },
  };
}

function offsets(name: string): (instant: number) => number {
  const format = new Intl.DateTimeFormat("en-US", {
    ...{ timeZone: name, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric" },
    ...{ hour: "numeric", minute: "numeric", second: "numeric" },
  });
  return (instant) => {
    const parts = Object.fromEntries(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(instant / 1000) * 1000;
  };
}

/** Steps to the first week in which the clocks change, then bisects it. */
function endOfPeriod(offsetAt: (instant: number) => number, start: number, offset: number): number {
  let same = start;
  for (let step = 0; step < searchedSteps; step++) {
    const probe = same + stepMs;
    if (offsetAt(probe) !== offset) return bisect(offsetAt, { same, other: probe, offset });
    same = probe;
  }
  return same;
}

function bisect(
  offsetAt: (instant: number) => number,
  { same, other, offset }: { readonly same: number; readonly other: number; readonly offset: number },
): number {
  // Clocks change at whole seconds.
  let [low, high] = [Math.floor(same / 1000), Math.ceil(other / 1000)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(middle * 1000) === offset) low = middle;
    else high = middle;
  }
  return high * 1000;
}
