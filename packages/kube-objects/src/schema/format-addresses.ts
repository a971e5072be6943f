// SPDX-License-Identifier: Apache-2.0
// Addresses as the reference server's libraries read them. "Sloppy" readers accept numbers with leading zeros, as
// releases of Go before 1.17 did; the server keeps them for the formats that began with them.
import { utf8Length } from "../json/utf8.ts";

/** An IPv4 address, or an IPv6 address that ends in one; leading zeros are accepted. */
export function isIPv4Format(text: string): boolean {
  if (!text.includes(".")) return false;
  const isVersion6 = text.includes(":") && text.indexOf(":") < text.indexOf(".");
  return isVersion6 ? isIPv6(text, sloppy) : sloppy.isIPv4(text);
}

/** An IPv6 address without a zone. */
export function isIPv6Format(text: string): boolean {
  return text.includes(":") && isIPv6(text, strict);
}

/** Any IP address without a zone, as in the domain of a mail address. */
export function isIPAddress(text: string): boolean {
  return strict.isIPv4(text) || isIPv6(text, strict);
}

/** An address and the length of its prefix; leading zeros are accepted. */
export function isCidrFormat(text: string): boolean {
  const slash = text.indexOf("/");
  const length = text.slice(slash + 1);
  if (slash < 0 || !/^[0-9]+$/.test(length)) return false;
  const address = text.slice(0, slash);
  if (sloppy.isIPv4(address)) return Number(length) <= 32;
  return isIPv6(address, sloppy) && Number(length) <= 128;
}

interface AddressRules {
  isIPv4(text: string): boolean;
  isGroup(text: string): boolean;
}

const strict: AddressRules = {
  isIPv4: (text) => /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/.test(text),
  isGroup: (text) => /^[0-9a-fA-F]{1,4}$/.test(text),
};

const sloppy: AddressRules = {
  isIPv4: (text) => /^(?:0*(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])(?:\.(?!$)|$)){4}$/.test(text),
  isGroup: (text) => /^0*[0-9a-fA-F]{1,4}$/.test(text),
};

/** Eight groups, or fewer around one `::`; the last two may be written as an IPv4 address. */
function isIPv6(text: string, rules: AddressRules): boolean {
  const [left = "", right, ...more] = text.split("::");
  if (more.length > 0) return false;
  const before = left === "" ? [] : left.split(":");
  const after = right === undefined || right === "" ? [] : right.split(":");
  const tail = right === undefined ? before : after;
  const endsInIPv4 = tail.at(-1)?.includes(".") === true;
  if (endsInIPv4 && !rules.isIPv4(tail.pop() ?? "")) return false;
  if (![...before, ...after].every(rules.isGroup)) return false;
  const groups = before.length + after.length + (endsInIPv4 ? 2 : 0);
  return right === undefined ? groups === 8 : groups <= 7;
}

/** A hardware address of 6, 8 or 20 bytes, in pairs joined by `:` or `-` or in fours joined by `.`. */
export function isMacFormat(text: string): boolean {
  const pairs = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2})*$/i;
  const fours = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})+$/i;
  if (!pairs.test(text) && !fours.test(text)) return false;
  return [6, 8, 20].includes(text.replace(/[:.-]/g, "").length / 2);
}

// One label with at most one dash, right after its first character; or labels and a top-level domain of letters.
const oneLabel = /^[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?$/u;
const manyLabels =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63}$/u;

/** An Internet host name; letters and symbols of any script are accepted. */
export function isHostnameFormat(text: string): boolean {
  if (utf8Length(text) > 255 || text.split(".").some((label) => utf8Length(label) > 63)) return false;
  return oneLabel.test(text) || manyLabels.test(text);
}
