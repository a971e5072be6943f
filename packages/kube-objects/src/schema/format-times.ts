// SPDX-License-Identifier: Apache-2.0

/** A day of the calendar, such as `2024-02-29`. */
export function isDateFormat(text: string): boolean {
  const [, year = "", month = "", day = ""] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text) ?? [];
  if (year === "") return false;
  const days = daysOf(Number(year), Number(month));
  return Number(day) >= 1 && Number(day) <= days;
}

function daysOf(year: number, month: number): number {
  if (month < 1 || month > 12) return 0;
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** A date, `T` and a time with its offset. What follows a second `T` is not looked at, as in the reference server. */
export function isDateTimeFormat(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t", 2);
  if (time === undefined || !isDateFormat(date)) return false;
  const clock = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/u.exec(time);
  if (!clock) return false;
  const [, hours = "", minutes = "", seconds = ""] = clock;
  return hours <= "23" && minutes <= "59" && seconds <= "59";
}

/** A duration as Go writes it (`1h30m`), or any text with a number and a unit of time in it (`about 3 days`). */
export function isDurationFormat(text: string): boolean {
  return isGoDuration(text) || hasCountedUnit(text);
}

const nanoseconds: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};
const longest = 2n ** 63n;

function isGoDuration(text: string): boolean {
  const isNegative = text.startsWith("-");
  const unsigned = /^[+-]/.test(text) ? text.slice(1) : text;
  if (unsigned === "0") return true;
  const part = /([0-9]*)(\.[0-9]*)?([^.0-9]+)/y;
  let total = 0n;
  while (part.lastIndex < unsigned.length) {
    const [, whole = "", fraction = "", unit = ""] = part.exec(unsigned) ?? [];
    const factor = Object.hasOwn(nanoseconds, unit) ? nanoseconds[unit] : undefined;
    if (factor === undefined || (whole === "" && fraction.length < 2) || whole.length > 400) return false;
    // The fraction of a unit cannot matter for the limit except in its last nanoseconds.
    total += BigInt(whole || "0") * factor;
    if (total > longest) return false;
  }
  return unsigned !== "" && (isNegative || total < longest);
}

const unitNames = [
  ["ns", "nano"],
  ["us", "µs", "micro"],
  ["ms", "milli"],
  ["s", "sec"],
  ["m", "min"],
  ["h", "hr", "hour"],
  ["d", "day"],
  ["w", "wk", "week"],
];

function hasCountedUnit(text: string): boolean {
  let found = false;
  // The unit is optional in the pattern so that digits without one are passed over once and not again from each of them.
  for (const [, count = "", unit = ""] of text.matchAll(/([0-9]+)[\t\n\f\r ]*([A-Za-zµ]*)/g)) {
    if (unit === "") continue;
    if (!isInt64(count)) return false;
    if (isUnit(unit.toLowerCase())) found = true;
  }
  return found;
}

// Any word that begins with the long name of a unit will do: "secs", "seconds".
const isUnit = (word: string): boolean =>
  unitNames.some((names) => names.includes(word) || word.startsWith(names.at(-1) ?? ""));

function isInt64(digits: string): boolean {
  const significant = digits.replace(/^0+/, "");
  return significant.length < 19 || (significant.length === 19 && BigInt(significant) < longest);
}
