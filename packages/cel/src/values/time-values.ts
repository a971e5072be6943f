// SPDX-License-Identifier: Apache-2.0

import { CelError, maxInt, minInt } from "./value.ts";

/** A span of time in nanoseconds, within 64 bits. */
export class Duration {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

const overflow = new CelError("integer overflow");

/** A duration of that many nanoseconds, or an error when it is too long. */
export function durationOf(nanos: bigint): Duration | CelError {
  return nanos < minInt || nanos > maxInt ? overflow : new Duration(nanos);
}

const unitNanos: ReadonlyMap<string, bigint> = new Map([
  ["ns", 1n],
  ["us", 1000n],
  ["\u00b5s", 1000n],
  ["\u03bcs", 1000n],
  ["ms", 1_000_000n],
  ["s", 1_000_000_000n],
  ["m", 60_000_000_000n],
  ["h", 3_600_000_000_000n],
]);

/** Reads a duration such as `1h30m` or `-1.5s`, or gives undefined. */
export function parseDuration(text: string): Duration | undefined {
  const [, sign = "", body = ""] = /^([+-]?)(.*)$/s.exec(text) ?? [];
  if (body === "0") return new Duration(0n);
  if (body === "") return undefined;
  let total = 0n;
  let at = 0;
  const part = /(\d*)(?:\.(\d*))?([^\d.]+)/y;
  while (at < body.length) {
    part.lastIndex = at;
    const match = part.exec(body);
    const nanos = match ? partNanos(match) : undefined;
    if (nanos === undefined) return undefined;
    total += nanos;
    if (total > maxInt + 1n) return undefined;
    at = part.lastIndex;
  }
  if (sign === "-") return new Duration(-total);
  return total > maxInt ? undefined : new Duration(total);
}

function partNanos([, whole = "", fraction = "", unit = ""]: RegExpExecArray): bigint | undefined {
  const scale = unitNanos.get(unit);
  if (scale === undefined || (whole === "" && fraction === "")) return undefined;
  const significant = whole.replace(/^0+/, "");
  if (significant.length > 19) return undefined;
  const amount = BigInt(significant || "0");
  if (amount > maxInt + 1n) return undefined;
  return amount * scale + fractionNanos(fraction, scale);
}

/** What is below a nanosecond is cut off. Computed in doubles, as Go does, from the digits that fit 63 bits. */
function fractionNanos(fraction: string, scale: bigint): bigint {
  let digits = fraction.slice(0, 19);
  if (BigInt(digits || "0") > maxInt + 1n) digits = digits.slice(0, 18);
  return BigInt(Math.trunc(Number(digits) * (Number(scale) / 10 ** digits.length)));
}

/** A point in time, with the UTC offset (in seconds) it was written in. */
export class Timestamp {
  readonly seconds: number;
  /** 0 to 999,999,999. */
  readonly nanos: number;
  readonly offset: number;

  constructor(seconds: number, nanos: number, offset = 0) {
    this.seconds = seconds;
    this.nanos = nanos;
    this.offset = offset;
  }
}

// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z.
const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;
const nanosPerSecond = 1_000_000_000n;

const timestampOverflow: CelError = new CelError("timestamp overflow");

export function timestampOf(seconds: bigint | number, nanos = 0, offset = 0): Timestamp | CelError {
  if (seconds < minSeconds || seconds > maxSeconds) return timestampOverflow;
  return new Timestamp(Number(seconds), nanos, offset);
}

export function addDuration(time: Timestamp, duration: Duration): Timestamp | CelError {
  const total = BigInt(time.seconds) * nanosPerSecond + BigInt(time.nanos) + duration.nanos;
  const nanos = ((total % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
  return timestampOf((total - nanos) / nanosPerSecond, Number(nanos), time.offset);
}

export function subtractTimestamps(a: Timestamp, b: Timestamp): Duration | CelError {
  const seconds = BigInt(a.seconds - b.seconds);
  return durationOf(seconds * nanosPerSecond + BigInt(a.nanos - b.nanos));
}

const pattern = /^(\d{4})-(\d\d)-(\d\d)T(\d{1,2}):(\d\d):(\d\d)(?:[.,](\d+))?(?:(Z)|([+-])(\d\d):(\d\d))$/;

/** Reads an RFC 3339 time, or gives undefined. */
export function parseTimestamp(text: string): Timestamp | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", , sign, offsetHour, offsetMinute] = match;
  const seconds = epochSeconds([year, month, day, hour, minute, second].map(Number));
  if (seconds === undefined || Number(offsetHour ?? 0) > 24 || Number(offsetMinute ?? 0) > 60) return undefined;
  const offset = (Number(offsetHour ?? 0) * 60 + Number(offsetMinute ?? 0)) * 60 * (sign === "-" ? -1 : 1);
  const nanos = Number(fraction.slice(0, 9).padEnd(9, "0"));
  return new Timestamp(seconds - offset, nanos, offset);
}

/** Seconds since 1970 of a UTC date and time, or undefined when there is no such date or time. */
export function epochSeconds(parts: readonly number[]): number | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  if (month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || second > 59) return undefined;
  const date = new Date(0);
  // setUTCFullYear, because Date.UTC takes the years 0 to 99 for 1900 to 1999.
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1) return undefined;
  return date.getTime() / 1000 + hour * 3600 + minute * 60 + second;
}

/** The time as RFC 3339 with as many fraction digits as it needs, in its own offset. */
export function formatTimestamp({ seconds, nanos, offset }: Timestamp): string {
  const iso = new Date((seconds + offset) * 1000).toISOString();
  const year = iso.startsWith("-") || iso.startsWith("+") ? iso.slice(0, 7) : iso.slice(0, 4);
  const rest = iso.slice(year.length, -5);
  const fraction = nanos === 0 ? "" : `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
  return `${year}${rest}${fraction}${formatOffset(offset)}`;
}

function formatOffset(offset: number): string {
  if (offset === 0) return "Z";
  const minutes = Math.floor(Math.abs(offset) / 60);
  const two = (value: number): string => String(value).padStart(2, "0");
  return `${offset < 0 ? "-" : "+"}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
}
