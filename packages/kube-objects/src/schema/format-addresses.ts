// SPDX-License-Identifier: Apache-2.0
// Addresses as the reference server's libraries read them. "Sloppy" readers accept numbers with leading zeros, as
// releases of Go before 1.17 did; the server keeps them for the formats that began with them.
import { cidrOf, type IpAddress, ipAddressOf } from "@purlin/base";
import { utf8Length } from "../json/utf8.ts";

/** An IPv4 address, or an IPv6 address that ends in one; leading zeros are accepted. */
export function isIPv4Format(text: string): boolean {
  return text.includes(".") && hasNoZone(ipAddressOf(text, sloppy));
}

/** An IPv6 address without a zone. */
export function isIPv6Format(text: string): boolean {
  return text.includes(":") && isIPAddress(text);
}

/** Any IP address without a zone, as in the domain of a mail address. */
export function isIPAddress(text: string): boolean {
  return hasNoZone(ipAddressOf(text));
}

/** An address and the length of its prefix; leading zeros are accepted. */
export function isCidrFormat(text: string): boolean {
  return cidrOf(text, sloppy) !== undefined;
}

const sloppy = { leadingZeros: true };

const hasNoZone = (address: IpAddress | undefined): boolean => address?.zone === "";

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
