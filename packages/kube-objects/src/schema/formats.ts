// SPDX-License-Identifier: Apache-2.0
import {
  isCidrFormat,
  isEmailFormat,
  isHostnameFormat,
  isIPAddress,
  isIPv4Format,
  isIPv6Format,
  isMacFormat,
} from "./format-addresses.ts";
import * as codes from "./format-codes.ts";

/** A day of the calendar, such as `2024-02-29`. */
function isDateFormat(text: string): boolean {
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
function isDateTimeFormat(text: string): boolean {
  const [date = "", time] = text.toLowerCase().split("t", 2);
  if (time === undefined || !isDateFormat(date)) return false;
  const clock = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/u.exec(time);
  if (!clock) return false;
  const [, hours = "", minutes = "", seconds = ""] = clock;
  return hours <= "23" && minutes <= "59" && seconds <= "59";
}

/** A duration as Go writes it (`1h30m`), or any text with a number and a unit of time in it (`about 3 days`). */
function isDurationFormat(text: string): boolean {
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

const hasOnlyWholeEscapes = (text: string): boolean => !/%(?![0-9a-fA-F]{2})/.test(text);

const hostCharacters = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:[\]<>"]|[\u0080-\u{10ffff}]|%25|%[89a-fA-F][0-9a-fA-F])*$/u;

// Only bytes that could not be written plainly may be escaped in a host.
const isHostText = (text: string): boolean => hostCharacters.test(text);

type FormatCheck = (text: string) => boolean;

// The formats of strings that the reference server checks; it ignores all others, and dashes in their names.
const stringFormats: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ["bsonobjectid", codes.isBsonObjectIdFormat],
  ["byte", codes.isByteFormat],
  ["cidr", isCidrFormat],
  ["creditcard", codes.isCreditCardFormat],
  ["date", isDateFormat],
  ["datetime", isDateTimeFormat],
  ["duration", isDurationFormat],
  ["email", isEmailFormat],
  ["hexcolor", codes.isHexColorFormat],
  ["hostname", isHostnameFormat],
  ["ipv4", isIPv4Format],
  ["ipv6", isIPv6Format],
  ["isbn", (text) => codes.isIsbn10Format(text) || codes.isIsbn13Format(text)],
  ["isbn10", codes.isIsbn10Format],
  ["isbn13", codes.isIsbn13Format],
  ["k8slongname", codes.isLongNameFormat],
  ["k8sshortname", codes.isShortNameFormat],
  ["mac", isMacFormat],
  ["password", () => true],
  ["rgbcolor", codes.isRgbColorFormat],
  ["ssn", codes.isSsnFormat],
  ["uri", isUriFormat],
  ["uuid", codes.isUuidFormat()],
  ["uuid3", codes.isUuidFormat(3)],
  ["uuid4", codes.isUuidFormat(4)],
  ["uuid5", codes.isUuidFormat(5)],
]);

const numberFormats: Readonly<Record<string, readonly string[]>> = {
  integer: ["int32", "int64"],
  number: ["float", "double"],
};

/** The check of a string format, or undefined for one that is not checked. Dashes in the name do not matter. */
export function stringFormatCheck(format: string): FormatCheck | undefined {
  return stringFormats.get(format.replaceAll("-", ""));
}

/** Whether a format means anything for values of these types; the reference server ignores the others. */
export function isCheckedFormat(format: string, types: readonly string[]): boolean {
  const type = types.length === 1 ? types[0] : undefined;
  if (type === undefined || type === "string") return stringFormatCheck(format) !== undefined;
  return Object.hasOwn(numberFormats, type) && numberFormats[type]?.includes(format) === true;
}

/** A URI as it may stand in an HTTP request: with a scheme, or an absolute path. */
function isUriFormat(text: string): boolean {
  if (text === "" || !/^[ -~\u0080-\u{10ffff}]*$/u.test(text)) return false;
  if (text === "*") return true;
  if (text.startsWith(":")) return false;
  const [prefix = ""] = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(text) ?? [];
  const [hierarchy = ""] = text.slice(prefix.length).split("?", 1);
  if (!hierarchy.startsWith("/")) return prefix !== "";
  if (prefix === "" || !hierarchy.startsWith("//")) return hasOnlyWholeEscapes(hierarchy);
  const slash = hierarchy.indexOf("/", 2);
  const end = slash < 0 ? hierarchy.length : slash;
  const scheme = prefix.slice(0, -1).toLowerCase();
  return isAuthority(hierarchy.slice(2, end), scheme) && hasOnlyWholeEscapes(hierarchy.slice(end));
}

function isAuthority(authority: string, scheme: string): boolean {
  const at = authority.lastIndexOf("@");
  if (at < 0) return isHost(authority, scheme);
  const user = authority.slice(0, at);
  const isUser = /^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) && user.split(":").every(hasOnlyWholeEscapes);
  return isUser && isHost(authority.slice(at + 1), scheme);
}

function isHost(host: string, scheme: string): boolean {
  const bracket = host.lastIndexOf("[");
  if (bracket > 0) return false;
  if (bracket === 0) return isLiteral(host);
  const first = host.indexOf(":");
  // Databases list several hosts with ports; only the web's own schemes insist on a single colon.
  const colon = scheme === "http" || scheme === "https" ? first : host.lastIndexOf(":");
  return (first < 0 || /^:[0-9]*$/.test(host.slice(colon))) && isHostText(host);
}

function isLiteral(host: string): boolean {
  const close = host.lastIndexOf("]");
  if (close < 0 || !/^(?::[0-9]*)?$/.test(host.slice(close + 1))) return false;
  const name = host.slice(1, close);
  const zoneAt = name.indexOf("%25");
  const address = zoneAt < 0 ? name : name.slice(0, zoneAt);
  const zone = zoneAt < 0 ? undefined : name.slice(zoneAt + 3);
  return address.includes(":") && isIPAddress(address) && (zone === undefined || isZone(zone));
}

function isZone(zone: string): boolean {
  if (zone === "" || !hasOnlyWholeEscapes(zone)) return false;
  const plain = zone.replace(/%([0-7][0-9a-fA-F])/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return isHostText(plain.replaceAll(/[ %]/g, "")) && !/[ %]/.test(zone.replaceAll(/%[0-9a-fA-F]{2}/g, ""));
}
