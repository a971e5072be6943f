// SPDX-License-Identifier: Apache-2.0
import { durationType, intType, stringType, timestampType } from "../check/types.ts";
import { isError, noSuchOverload } from "../values/cel-error.ts";
import { Duration } from "../values/duration.ts";
import { Timestamp } from "../values/timestamp.ts";
import { type FunctionDecl, type Implementation, memberOverload, type Overload, signature } from "./function.ts";
import { offsetIn } from "./time-zone.ts";

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
