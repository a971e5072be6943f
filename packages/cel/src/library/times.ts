// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";
import { durationType, intType, stringType, timestampType } from "../types/types.ts";
import { Duration, Timestamp } from "../values/time-values.ts";
import { CelError, isError, type Meter, noSuchOverload } from "../values/value.ts";
import { type FunctionDecl, type Implementation, memberOverload, type Overload, signature } from "./function.ts";

const formats: Map<string, Intl.DateTimeFormat> = new Map();

const maxFormats = 64;

// Looking up a zone, and finding its offset at a time, in units of the meter.
const lookupWork = 20_000;

const offsetWork = 250;

// Names are files of a zone database, so case counts: it is a capital at the start of each part.
const zoneName = /^[A-Z][A-Za-z0-9_+-]*(?:\/[A-Z][A-Za-z0-9_+-]*)*$/;

const longestName = 64;

/** A part of a date, from the date as UTC and the nanoseconds. */
type Part = (date: Date, nanos: number) => number;

function dayOfYear(date: Date): number {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start.getTime()) / 86_400_000);
}

const read =
  (part: Part): Implementation =>
  ([time, zone], meter) => {
    if (!(time instanceof Timestamp)) return noSuchOverload;
    const offset = typeof zone === "string" ? offsetIn(zone, time.seconds, meter) : 0;
    if (isError(offset)) return offset;
    return BigInt(part(new Date((time.seconds + offset) * 1000), time.nanos));
  };

const ofDuration =
  (unit: bigint): Implementation =>
  ([duration]) =>
    duration instanceof Duration ? duration.nanos / unit : noSuchOverload;

interface TimePart {
  readonly name: string;
  readonly id: string;
  /** The id with a time zone, where it does not follow from the other. */
  readonly zonedId?: string;
  readonly part: Part;
  readonly duration?: { readonly id: string; readonly unit: bigint };
}

function timeFunction({ name, id, zonedId = `${id}_with_tz`, part, duration }: TimePart): FunctionDecl {
  const overloads: Overload[] = [
    memberOverload(signature(id, [timestampType], intType), read(part)),
    memberOverload(signature(zonedId, [timestampType, stringType], intType), read(part)),
  ];
  if (duration) {
    overloads.push(memberOverload(signature(duration.id, [durationType], intType), ofDuration(duration.unit)));
  }
  return { name, overloads };
}

/** `getHours()` and the like, on timestamps and durations. */
export const timeFunctions: readonly FunctionDecl[] = [
  { name: "getFullYear", id: "timestamp_to_year", part: (date: Date): number => date.getUTCFullYear() },
  { name: "getMonth", id: "timestamp_to_month", part: (date: Date): number => date.getUTCMonth() },
  { name: "getDayOfYear", id: "timestamp_to_day_of_year", part: dayOfYear },
  { name: "getDayOfMonth", id: "timestamp_to_day_of_month", part: (date: Date): number => date.getUTCDate() - 1 },
  { name: "getDate", id: "timestamp_to_day_of_month_1_based", part: (date: Date): number => date.getUTCDate() },
  { name: "getDayOfWeek", id: "timestamp_to_day_of_week", part: (date: Date): number => date.getUTCDay() },
  {
    name: "getHours",
    id: "timestamp_to_hours",
    part: (date: Date): number => date.getUTCHours(),
    duration: { id: "duration_to_hours", unit: 3_600_000_000_000n },
  },
  {
    name: "getMinutes",
    id: "timestamp_to_minutes",
    part: (date: Date): number => date.getUTCMinutes(),
    duration: { id: "duration_to_minutes", unit: 60_000_000_000n },
  },
  {
    name: "getSeconds",
    id: "timestamp_to_seconds",
    zonedId: "timestamp_to_seconds_tz",
    part: (date: Date): number => date.getUTCSeconds(),
    duration: { id: "duration_to_seconds", unit: 1_000_000_000n },
  },
  {
    name: "getMilliseconds",
    id: "timestamp_to_milliseconds",
    part: (_date: Date, nanos: number): number => Math.floor(nanos / 1_000_000),
    duration: { id: "duration_to_milliseconds", unit: 1_000_000n },
  },
].map(timeFunction);

/** The UTC offset in seconds of a time zone at an instant. A zone is a name, or hours and minutes such as `-08:00`. */
function offsetIn(zone: string, seconds: number, meter: Meter): number | CelError {
  const colon = zone.indexOf(":");
  if (colon >= 0) return fixedOffset(zone.slice(0, colon), zone.slice(colon + 1));
  // The API server runs in UTC wherever it is deployed.
  if (zone === "" || zone === "UTC" || zone === "Local") return 0;
  if (/^[/\\]|\.\./.test(zone)) return new CelError("time: invalid location name");
  const format = formatFor(zone, meter);
  if (!format) return new CelError(`unknown time zone ${zone}`);
  meter.spend(offsetWork);
  return namedOffset(format, seconds);
}

function fixedOffset(hours: string, minutes: string): number | CelError {
  for (const part of [hours, minutes]) {
    if (!/^[+-]?\d+$/.test(part)) return new CelError(`strconv.Atoi: parsing ${goQuote(part)}: invalid syntax`);
  }
  const sign = hours.startsWith("-") ? -1 : 1;
  return (Number(hours) * 60 + sign * Number(minutes)) * 60;
}

function formatFor(zone: string, meter: Meter): Intl.DateTimeFormat | undefined {
  const known = formats.get(zone);
  if (known) return known;
  if (zone.length > longestName || !zoneName.test(zone)) return undefined;
  meter.spend(lookupWork);
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formats.size >= maxFormats) formats.clear();
    formats.set(zone, format);
    return format;
  } catch {
    // Not a zone this machine knows; the caller says so.
    return undefined;
  }
}

function namedOffset(format: Intl.DateTimeFormat, seconds: number): number {
  const parts = new Map(format.formatToParts(seconds * 1000).map(({ type, value }) => [type, value]));
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type) ?? 0);
  const local = new Date(0);
  const year = parts.get("era") === "BC" ? 1 - number("year") : number("year");
  local.setUTCFullYear(year, number("month") - 1, number("day"));
  local.setUTCHours(number("hour"), number("minute"), number("second"));
  return local.getTime() / 1000 - seconds;
}
