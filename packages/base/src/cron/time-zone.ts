// SPDX-License-Identifier: Apache-2.0

/** A period of a time zone during which the difference to UTC does not change. */
interface ZonePeriod {
  /** Local time minus UTC, in milliseconds. */
  readonly offset: number;
  /** The first instant of the next period, or an instant up to which no change was looked for. */
  readonly end: number;
}

/** A time zone: when its clocks change. */
export interface TimeZone {
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
export function timeZoneOf(name: string): TimeZone | undefined {
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
