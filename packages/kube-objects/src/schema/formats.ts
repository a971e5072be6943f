// SPDX-License-Identifier: Apache-2.0
import {
  isCidrFormat,
  isHostnameFormat,
  isIPAddress,
  isIPv4Format,
  isIPv6Format,
  isMacFormat,
} from "./format-addresses.ts";
import * as codes from "./format-codes.ts";
import { isEmailFormat } from "./format-email.ts";
import { isDateFormat, isDateTimeFormat, isDurationFormat } from "./format-times.ts";

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
