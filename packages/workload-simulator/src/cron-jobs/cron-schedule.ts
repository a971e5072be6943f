// SPDX-License-Identifier: Apache-2.0

/** When a CronJob runs. */
export interface CronSchedule {
  /** The first time after a given one, in milliseconds since the epoch; undefined when there is none within five years. */
  next(after: number): number | undefined;
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

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const longestMs = 5 * 366 * 24 * hourMs;

/** Reads a schedule that the API server has accepted. Times are those of a time zone, UTC unless given. */
export function readSchedule(text: string, timeZone?: string): CronSchedule {
  const [, every] = /^@every (.+)$/.exec(text) ?? [];
  if (every !== undefined) return everySchedule(every);
  const fields = (descriptors[text] ?? text).trim().split(/\s+/);
  const [minute = "*", hour = "*", day = "*", month = "*", weekday = "*"] = fields;
  const match: Fields = {
    minutes: valuesOf(minute, { min: 0, max: 59 }),
    hours: valuesOf(hour, { min: 0, max: 23 }),
    days: valuesOf(day, { min: 1, max: 31 }),
    months: valuesOf(month, { min: 1, max: 12, names: months }),
    weekdays: valuesOf(weekday, { min: 0, max: 6, names: days }),
    isEitherDay: !/^[*?]/.test(day) && !/^[*?]/.test(weekday),
  };
  const zone = zoneOf(timeZone);
  return { next: (after) => nextIn(match, zone, after) };
}

function everySchedule(text: string): CronSchedule {
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, count, unit = ""]) => sum + Number(count) * (unitMs[unit] ?? 0), 0);
  const delay = Math.max(1000, Math.floor(total / 1000) * 1000);
  return { next: (after) => Math.floor(after / 1000) * 1000 + delay };
}

interface Fields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** Whether both fields of days are restricted: then one of them suffices. */
  readonly isEitherDay: boolean;
}

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

function valuesOf(field: string, bounds: Bounds): ReadonlySet<number> {
  return new Set(field.split(",").flatMap((part) => rangeOf(part, bounds)));
}

function rangeOf(part: string, { min, max, names = [] }: Bounds): readonly number[] {
  const [range = "", step] = part.split("/");
  const [low = "", high] = range.split("-");
  const value = (text: string): number => {
    const named = names.indexOf(text.toLowerCase());
    return named < 0 ? Number(text) : named + min;
  };
  const isAll = low === "*" || low === "?";
  const from = isAll ? min : value(low);
  const to = isAll || (high === undefined && step !== undefined) ? max : high === undefined ? from : value(high);
  const by = Math.max(1, Number(step ?? 1) || 1);
  const values: number[] = [];
  for (let at = from; at <= to; at += by) values.push(at);
  return values;
}

/** The difference between the local time of a zone and UTC at an instant. */
type Zone = (instant: number) => number;

function zoneOf(name: string | undefined): Zone {
  if (name === undefined || name === "" || name === "UTC" || name === "Etc/UTC") return () => 0;
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

/** Searches in local time, field by field from months to minutes. */
function nextIn(fields: Fields, zone: Zone, after: number): number | undefined {
  let wall = Math.floor((after + zone(after)) / minuteMs) * minuteMs + minuteMs;
  const end = wall + longestMs;
  while (wall < end) {
    const later = nextCandidate(fields, new Date(wall));
    if (later !== wall) {
      wall = later;
      continue;
    }
    const instant = instantOf(zone, wall);
    if (instant !== undefined && instant > after) return instant;
    wall += minuteMs;
  }
  return undefined;
}

/** The same time if it matches, else the earliest time that may match. */
function nextCandidate(fields: Fields, at: Date): number {
  const [year, month, day, hour] = [at.getUTCFullYear(), at.getUTCMonth(), at.getUTCDate(), at.getUTCHours()];
  if (!fields.months.has(month + 1)) return Date.UTC(year, month + 1, 1);
  if (!isDay(fields, at)) return Date.UTC(year, month, day + 1);
  if (!fields.hours.has(hour)) return Date.UTC(year, month, day, hour + 1);
  return fields.minutes.has(at.getUTCMinutes()) ? at.getTime() : at.getTime() + minuteMs;
}

function isDay({ days: inMonth, weekdays, isEitherDay }: Fields, at: Date): boolean {
  const [ofMonth, ofWeek] = [inMonth.has(at.getUTCDate()), weekdays.has(at.getUTCDay())];
  return isEitherDay ? ofMonth || ofWeek : ofMonth && ofWeek;
}

/** The instant of a local time; undefined for one that a change of the clocks skips. */
function instantOf(zone: Zone, wall: number): number | undefined {
  const offsets = [zone(wall - 14 * hourMs), zone(wall), zone(wall + 14 * hourMs)];
  const instants = offsets.map((offset) => wall - offset).filter((instant) => instant + zone(instant) === wall);
  return instants.length === 0 ? undefined : Math.min(...instants);
}

/** The last time of a schedule that is not later than `now`, and later than `after`. Bisects, as there may be millions of times. */
export function lastBetween(schedule: CronSchedule, after: number, now: number): number | undefined {
  const first = schedule.next(after);
  if (first === undefined || first > now) return undefined;
  let [found, end] = [first, now];
  while (end - found > 1) {
    const middle = Math.floor((found + end) / 2);
    const candidate = schedule.next(middle);
    if (candidate !== undefined && candidate <= now) found = candidate;
    else end = middle;
  }
  return found;
}
