// SPDX-License-Identifier: Apache-2.0
// Mail and network addresses as the reference server's libraries read them. A mail address has the leniencies of its library:
// display names, comments, quoted local parts, and a group of exactly one address. "Sloppy" readers of IP addresses accept numbers
// with leading zeros, as releases of Go before 1.17 did; the server keeps them for the formats that began with them.
import { cidrOf, type IpAddress, ipAddressOf } from "@purlin/base";
import { utf8Length } from "../json/json-value.ts";

/** A single mail address, alone or with a display name: `a@b.c`, `"A. B." <a@b.c>`. */
export function isEmailFormat(text: string): boolean {
  const reader: Reader = { text, at: 0 };
  const addresses = readAddress(reader, { allowGroup: true });
  return addresses === 1 && skipComments(reader) && reader.at === text.length;
}

interface Reader {
  readonly text: string;
  at: number;
}

const spaces = /[ \t]*/y;
// Every visible character but the specials of the grammar; the dot is among the visible ones.
const atom = /[[!-~\u0080-\u{10ffff}]--[\(\)<>\[\]:;@\\,"]]+/vy;
const quoted = /"(?:[[\t -~\u0080-\u{10ffff}]--["\\]]|\\[\t -~\u0080-\u{10ffff}])*"/vy;
const domainLiteral = /\[[[!-~\u0080-\u{10ffff}]--[\[\]\\]]*\]/vy;

function take(reader: Reader, token: RegExp): string | undefined {
  token.lastIndex = reader.at;
  const match = token.exec(reader.text)?.[0];
  if (match !== undefined) reader.at += match.length;
  return match;
}

function takeCharacter(reader: Reader, character: string): boolean {
  if (reader.text[reader.at] !== character) return false;
  reader.at++;
  return true;
}

/** The number of addresses; undefined when the text is malformed. */
function readAddress(reader: Reader, options: { readonly allowGroup: boolean }): number | undefined {
  take(reader, spaces);
  if (readAddrSpec(reader)) {
    take(reader, spaces);
    return reader.text[reader.at] !== "(" || takeComment(reader) ? 1 : undefined;
  }
  if (reader.text[reader.at] !== "<" && !readPhrase(reader)) return undefined;
  take(reader, spaces);
  if (options.allowGroup && takeCharacter(reader, ":")) return readGroup(reader);
  return takeCharacter(reader, "<") && readAddrSpec(reader) && takeCharacter(reader, ">") ? 1 : undefined;
}

function readGroup(reader: Reader): number | undefined {
  let addresses = 0;
  take(reader, spaces);
  while (!takeCharacter(reader, ";")) {
    if (addresses > 0 && !takeCharacter(reader, ",")) return undefined;
    const read = readAddress(reader, { allowGroup: false });
    if (read === undefined || !skipComments(reader)) return undefined;
    addresses += read;
  }
  return skipComments(reader) ? addresses : undefined;
}

/** Reads `local@domain`, or stays where it is. */
function readAddrSpec(reader: Reader): boolean {
  const start = reader.at;
  take(reader, spaces);
  const local = reader.text[reader.at] === '"' ? take(reader, quoted) : dotAtom(take(reader, atom));
  if (local !== undefined && local !== '""' && takeCharacter(reader, "@")) {
    take(reader, spaces);
    if (reader.text[reader.at] === "[" ? readLiteral(reader) : dotAtom(take(reader, atom)) !== undefined) return true;
  }
  reader.at = start;
  return false;
}

function dotAtom(text: string | undefined): string | undefined {
  return text === undefined || /^\.|\.\.|\.$/.test(text) ? undefined : text;
}

function readLiteral(reader: Reader): boolean {
  const literal = take(reader, domainLiteral);
  return literal !== undefined && isIPAddress(literal.slice(1, -1));
}

function readPhrase(reader: Reader): boolean {
  let words = 0;
  for (; ; words++) {
    if (words > 0 && !skipComments(reader)) return false;
    take(reader, spaces);
    const word = reader.text[reader.at] === '"' ? take(reader, quoted) : take(reader, atom);
    if (word === undefined) return words > 0;
  }
}

function skipComments(reader: Reader): boolean {
  take(reader, spaces);
  while (reader.text[reader.at] === "(") {
    if (!takeComment(reader)) return false;
    take(reader, spaces);
  }
  return true;
}

/** Reads a comment with the comments inside it; false when it does not end. */
function takeComment(reader: Reader): boolean {
  let open = 0;
  do {
    const character = reader.text[reader.at];
    if (character === undefined) return false;
    if (character === "\\" && reader.at + 1 < reader.text.length) reader.at++;
    else if (character === "(") open++;
    else if (character === ")") open--;
    reader.at++;
  } while (open > 0);
  return true;
}

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
