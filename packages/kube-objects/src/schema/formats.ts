// SPDX-License-Identifier: Apache-2.0

import { utf8Length } from "../json/json-value.ts";
import {
  isCidrFormat,
  isEmailFormat,
  isHostnameFormat,
  isIPAddress,
  isIPv4Format,
  isIPv6Format,
  isMacFormat,
} from "./format-addresses.ts";

/** Base64 with padding; the empty string is not one, as in the reference server. */
function isByteFormat(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]{2,}={0,2}$/.test(text);
}

/** A test for a UUID of a version, or of any; dashes are optional. */
function isUuidFormat(version?: 3 | 4 | 5): (text: string) => boolean {
  const third = version === undefined ? "[0-9a-f]{4}" : `${version}[0-9a-f]{3}`;
  const fourth = version === 4 || version === 5 ? "[89ab][0-9a-f]{3}" : "[0-9a-f]{4}";
  const pattern = new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${third}-?${fourth}-?[0-9a-f]{12}$`, "i");
  return (text) => pattern.test(text);
}

/** An object id of BSON: twelve bytes in hexadecimal. */
function isBsonObjectIdFormat(text: string): boolean {
  return /^[0-9a-fA-F]{24}$/.test(text);
}

const withoutSeparators = (text: string): string => text.replace(/[\t\n\f\r -]/g, "");

/** A book number of ten digits, the last of which may be X. */
function isIsbn10Format(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^[0-9]{9}[0-9X]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

/** A book number of thirteen digits. */
function isIsbn13Format(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^[0-9]{13}$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit), 0);
  return sum % 10 === 0;
}

const cardNumber =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$/;

/** The number of a credit card, with anything but digits between its digits. */
function isCreditCardFormat(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, "");
  if (!cardNumber.test(digits)) return false;
  const sum = [...digits].reverse().reduce((total, digit, index) => total + luhn(Number(digit), index), 0);
  return sum % 10 === 0;
}

function luhn(digit: number, index: number): number {
  if (index % 2 === 0) return digit;
  return digit < 5 ? digit * 2 : digit * 2 - 9;
}

/** A social security number of the United States, written with both separators. */
function isSsnFormat(text: string): boolean {
  return utf8Length(text) === 11 && /^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$/.test(text);
}

/** A color in hexadecimal, with or without `#`. */
function isHexColorFormat(text: string): boolean {
  return /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text);
}

/** A color as `rgb(1, 2, 3)`. */
function isRgbColorFormat(text: string): boolean {
  const [, red = "", green = "", blue = ""] =
    /^rgb\([\t\n\f\r ]*([0-9]{1,3})[\t\n\f\r ]*,[\t\n\f\r ]*([0-9]{1,3})[\t\n\f\r ]*,[\t\n\f\r ]*([0-9]{1,3})[\t\n\f\r ]*\)$/.exec(
      text,
    ) ?? [];
  return [red, green, blue].every((part) => /^(?:0|[1-9][0-9]{0,2})$/.test(part) && Number(part) <= 255);
}

const shortName = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?";
const shortNamePattern = new RegExp(`^${shortName}$`);
const longNamePattern = new RegExp(`^${shortName}(?:\\.${shortName})*$`);

/** A name as most label-like names of Kubernetes are: at most 63 lower-case letters, digits and inner dashes. */
function isShortNameFormat(text: string): boolean {
  return text.length <= 63 && shortNamePattern.test(text);
}

/** Short names joined by dots, at most 253 characters in all. */
function isLongNameFormat(text: string): boolean {
  return text.length <= 253 && longNamePattern.test(text);
}

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
  ["bsonobjectid", isBsonObjectIdFormat],
  ["byte", isByteFormat],
  ["cidr", isCidrFormat],
  ["creditcard", isCreditCardFormat],
  ["date", isDateFormat],
  ["datetime", isDateTimeFormat],
  ["duration", isDurationFormat],
  ["email", isEmailFormat],
  ["hexcolor", isHexColorFormat],
  ["hostname", isHostnameFormat],
  ["ipv4", isIPv4Format],
  ["ipv6", isIPv6Format],
  ["isbn", (text) => isIsbn10Format(text) || isIsbn13Format(text)],
  ["isbn10", isIsbn10Format],
  ["isbn13", isIsbn13Format],
  ["k8slongname", isLongNameFormat],
  ["k8sshortname", isShortNameFormat],
  ["mac", isMacFormat],
  ["password", () => true],
  ["rgbcolor", isRgbColorFormat],
  ["ssn", isSsnFormat],
  ["uri", isUriFormat],
  ["uuid", isUuidFormat()],
  ["uuid3", isUuidFormat(3)],
  ["uuid4", isUuidFormat(4)],
  ["uuid5", isUuidFormat(5)],
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
