// SPDX-License-Identifier: Apache-2.0
import { isCidrFormat, isHostnameFormat, isIPv4Format, isIPv6Format, isMacFormat } from "./format-addresses.ts";
import * as codes from "./format-codes.ts";
import { isEmailFormat } from "./format-email.ts";
import { isDateFormat, isDateTimeFormat, isDurationFormat } from "./format-times.ts";
import { isUriFormat } from "./format-uri.ts";

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
