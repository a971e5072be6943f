// SPDX-License-Identifier: Apache-2.0

/** A cron schedule that cannot be parsed. The message is that of Go's robfig/cron, which Kubernetes and Crossplane use. */
export class CronSyntaxError extends Error {
  override readonly name = "CronSyntaxError";
}

/** The values that each of the five fields allows. */
export interface CronFields {
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

interface Field {
  readonly values: ReadonlySet<number>;
  readonly hasStar: boolean;
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

const fieldBounds = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
] as const satisfies readonly Bounds[];

/** Parses five fields; throws a CronSyntaxError. */
export function parseFields(text: string): CronFields {
  const texts = text.split(/\s+/).filter(Boolean);
  if (texts.length !== fieldBounds.length) {
    const found = `found ${texts.length}: [${texts.join(" ")}]`;
    throw new CronSyntaxError(`expected exactly ${fieldBounds.length} fields, ${found}`);
  }
  const [minute, hour, day, month, weekday] = fieldBounds.map((bounds, index) =>
    parseField(texts[index] ?? "", bounds),
  );
  return {
    minutes: valuesOf(minute),
    hours: valuesOf(hour),
    days: valuesOf(day),
    months: valuesOf(month),
    weekdays: valuesOf(weekday),
    isEitherDay: day?.hasStar !== true && weekday?.hasStar !== true,
  };
}

const valuesOf = (field: Field | undefined): ReadonlySet<number> => field?.values ?? new Set();

/** Empty parts of a list are ignored, so a field of commas allows no value. */
function parseField(text: string, bounds: Bounds): Field {
  const values = new Set<number>();
  let hasStar = false;
  for (const part of text.split(",")) {
    if (part === "") continue;
    const { from, to, by, isStar } = parseRange(part, bounds);
    for (let value = from; value <= to; value += by) values.add(value);
    hasStar ||= isStar;
  }
  return { values, hasStar };
}

interface Range {
  readonly from: number;
  readonly to: number;
  readonly by: number;
  readonly isStar: boolean;
}

function parseRange(part: string, bounds: Bounds): Range {
  const [range = "", step, ...more] = part.split("/");
  const [low = "", high] = range.split("-");
  const isAll = low === "*" || low === "?";
  const from = isAll ? bounds.min : parseValue(low, bounds);
  let to = isAll ? bounds.max : parseEnd(range, part, bounds);
  if (more.length > 0) throw new CronSyntaxError(`too many slashes: ${part}`);
  const by = step === undefined ? 1 : parseValue(step, { min: 0, max: 0 });
  if (step !== undefined && high === undefined) to = bounds.max;
  checkRange({ from, to, by }, part, bounds);
  // A step removes the star: `*/2` restricts the day.
  return { from, to, by, isStar: isAll && by === 1 };
}

function parseEnd(range: string, part: string, bounds: Bounds): number {
  const [low = "", high, ...rest] = range.split("-");
  if (rest.length > 0) throw new CronSyntaxError(`too many hyphens: ${part}`);
  return parseValue(high ?? low, bounds);
}

function checkRange({ from, to, by }: Omit<Range, "isStar">, part: string, { min, max }: Bounds): void {
  if (from < min) throw new CronSyntaxError(`beginning of range (${from}) below minimum (${min}): ${part}`);
  if (to > max) throw new CronSyntaxError(`end of range (${to}) above maximum (${max}): ${part}`);
  if (from > to) throw new CronSyntaxError(`beginning of range (${from}) beyond end of range (${to}): ${part}`);
  if (by === 0) throw new CronSyntaxError(`step of range should be a positive number: ${part}`);
}

function parseValue(text: string, { min, names = [] }: Bounds): number {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return named + min;
  const failed = `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}`;
  if (!/^[+-]?[0-9]+$/.test(text)) throw new CronSyntaxError(`${failed}: invalid syntax`);
  const value = Number(text);
  if (Math.abs(value) >= 2 ** 63) throw new CronSyntaxError(`${failed}: value out of range`);
  if (value < 0) throw new CronSyntaxError(`negative number (${value}) not allowed: ${text}`);
  return value;
}
