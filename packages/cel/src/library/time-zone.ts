// SPDX-License-Identifier: Apache-2.0
import { CelError } from "../values/cel-error.ts";
import type { Meter } from "../values/meter.ts";
import { quoteGo } from "./quote-go.ts";

const formats: Map<string, Intl.DateTimeFormat> = new Map();
const maxFormats = 64;
// Looking up a zone, and finding its offset at a time, in units of the meter.
const lookupWork = 20_000;
const offsetWork = 250;

// Names are files of a zone database, so case counts: it is a capital at the start of each part.
const zoneName = /^[A-Z][A-Za-z0-9_+-]*(?:\/[A-Z][A-Za-z0-9_+-]*)*$/;
const longestName = 64;

/** The UTC offset in seconds of a time zone at an instant. A zone is a name, or hours and minutes such as `-08:00`. */
export function offsetIn(zone: string, seconds: number, meter: Meter): number | CelError {
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
    if (!/^[+-]?\d+$/.test(part)) return new CelError(`strconv.Atoi: parsing ${quoteGo(part)}: invalid syntax`);
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
