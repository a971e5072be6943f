// SPDX-License-Identifier: Apache-2.0
import { utf8Length } from "../json/utf8.ts";

/** Base64 with padding; the empty string is not one, as in the reference server. */
export function isByteFormat(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]{2,}={0,2}$/.test(text);
}

/** A test for a UUID of a version, or of any; dashes are optional. */
export function isUuidFormat(version?: 3 | 4 | 5): (text: string) => boolean {
  const third = version === undefined ? "[0-9a-f]{4}" : `${version}[0-9a-f]{3}`;
  const fourth = version === 4 || version === 5 ? "[89ab][0-9a-f]{3}" : "[0-9a-f]{4}";
  const pattern = new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${third}-?${fourth}-?[0-9a-f]{12}$`, "i");
  return (text) => pattern.test(text);
}

/** An object id of BSON: twelve bytes in hexadecimal. */
export function isBsonObjectIdFormat(text: string): boolean {
  return /^[0-9a-fA-F]{24}$/.test(text);
}

const withoutSeparators = (text: string): string => text.replace(/[\t\n\f\r -]/g, "");

/** A book number of ten digits, the last of which may be X. */
export function isIsbn10Format(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^[0-9]{9}[0-9X]$/.test(digits)) return false;
  const sum = [...digits].reduce(
    (total, digit, index) => total + (index + 1) * (digit === "X" ? 10 : Number(digit)),
    0,
  );
  return sum % 11 === 0;
}

/** A book number of thirteen digits. */
export function isIsbn13Format(text: string): boolean {
  const digits = withoutSeparators(text);
  if (!/^[0-9]{13}$/.test(digits)) return false;
  const sum = [...digits].reduce((total, digit, index) => total + (index % 2 === 0 ? 1 : 3) * Number(digit), 0);
  return sum % 10 === 0;
}

const cardNumber =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$/;

/** The number of a credit card, with anything but digits between its digits. */
export function isCreditCardFormat(text: string): boolean {
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
export function isSsnFormat(text: string): boolean {
  return utf8Length(text) === 11 && /^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$/.test(text);
}

/** A colour in hexadecimal, with or without `#`. */
export function isHexColorFormat(text: string): boolean {
  return /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(text);
}

/** A colour as `rgb(1, 2, 3)`. */
export function isRgbColorFormat(text: string): boolean {
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
export function isShortNameFormat(text: string): boolean {
  return text.length <= 63 && shortNamePattern.test(text);
}

/** Short names joined by dots, at most 253 characters in all. */
export function isLongNameFormat(text: string): boolean {
  return text.length <= 253 && longNamePattern.test(text);
}
