// SPDX-License-Identifier: Apache-2.0

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const days = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const descriptors = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: days },
];

/** Why a text is not a cron schedule, in the words of the reference's parser; undefined when it is one. */
export function scheduleProblem(schedule: string): string | undefined {
  if (schedule.startsWith("@")) {
    const isKnown = descriptors.includes(schedule) || /^@every ([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$/.test(schedule);
    return isKnown ? undefined : `unrecognized descriptor: ${schedule}`;
  }
  const fields = schedule.trim().split(/\s+/).filter(Boolean);
  if (fields.length !== fieldBounds.length) {
    return `expected exactly 5 fields, found ${fields.length}: [${fields.join(" ")}]`;
  }
  for (const [index, field] of fields.entries()) {
    const bounds = fieldBounds[index] as Bounds;
    const problem = field
      .split(",")
      .map((part) => rangeProblem(part, bounds))
      .find((found) => found !== undefined);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function rangeProblem(part: string, bounds: Bounds): string | undefined {
  const [range = "", step, ...more] = part.split("/");
  const [low = "", high, ...rest] = range.split("-");
  if (more.length > 0) return `too many slashes: ${part}`;
  if (rest.length > 0) return `too many hyphens: ${part}`;
  const isAll = low === "*" || low === "?";
  const start = isAll ? bounds.min : numberOf(low, bounds);
  const end = isAll
    ? bounds.max
    : high === undefined
      ? step === undefined
        ? start
        : bounds.max
      : numberOf(high, bounds);
  if (typeof start === "string") return start;
  if (typeof end === "string") return end;
  const by = step === undefined ? 1 : numberOf(step, { min: 0, max: 0 });
  if (typeof by === "string") return by;
  if (start < bounds.min) return `beginning of range (${start}) below minimum (${bounds.min}): ${part}`;
  if (end > bounds.max) return `end of range (${end}) above maximum (${bounds.max}): ${part}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${part}`;
  return by === 0 ? `step of range should be a positive number: ${part}` : undefined;
}

/** A number, or why it is invalid. */
function numberOf(text: string, { min, names = [] }: Bounds): number | string {
  const named = names.indexOf(text.toLowerCase());
  if (named >= 0) return named + min;
  if (!/^[+-]?[0-9]+$/.test(text)) {
    return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
  }
  const value = Number(text);
  return value < 0 ? `negative number (${value}) not allowed: ${text}` : value;
}
