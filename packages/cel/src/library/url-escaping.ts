// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";

/** A string that is not a URL, in the words of Go's net/url. */
export class UrlProblem extends Error {}

const alphanumeric = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
const unreserved = `${alphanumeric}-_.~`;

type UrlPart = "path" | "host" | "zone" | "user" | "query" | "fragment";

/** The characters each part of a URL may hold as they are. */
const allowed: Readonly<Record<UrlPart, ReadonlySet<string>>> = {
  path: new Set(`${unreserved}$&+,/:;=@`),
  host: new Set(`${unreserved}!$&'()*+,;=:[]<>"`),
  zone: new Set(`${unreserved}!$&'()*+,;=:[]<>"`),
  user: new Set(`${unreserved}$&+,;=`),
  query: new Set(unreserved),
  fragment: new Set(`${unreserved}$&+,/:;=?@!()*`),
};

const isHex = (char: string | undefined): boolean => char !== undefined && /^[0-9A-Fa-f]$/.test(char);

/** Replaces the escapes of a URL part, or complains about a wrong one. */
export function unescapePart(text: string, part: UrlPart): string {
  const bytes: number[] = [];
  const source = Buffer.from(text, "utf8").toString("latin1");
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at);
    if (char === "%") {
      bytes.push(escapedByte(source, at, part));
      at += 2;
    } else {
      checkHostCharacter(char, part);
      bytes.push(char === "+" && part === "query" ? 0x20 : char.charCodeAt(0));
    }
  }
  return Buffer.from(bytes).toString("utf8");
}

function escapedByte(source: string, at: number, part: UrlPart): number {
  const sequence = source.slice(at, at + 3);
  const wrong = new UrlProblem(`invalid URL escape ${goQuote(Buffer.from(sequence, "latin1").toString("utf8"))}`);
  if (!isHex(sequence[1]) || !isHex(sequence[2])) throw wrong;
  const byte = Number.parseInt(sequence.slice(1), 16);
  // A host may escape only what is not ASCII; a zone may also escape what a host could hold.
  if (part === "host" && byte < 0x80 && sequence !== "%25") throw wrong;
  const isZoneCharacter = byte === 0x20 || allowed.host.has(String.fromCharCode(byte));
  if (part === "zone" && sequence !== "%25" && !isZoneCharacter) throw wrong;
  return byte;
}

function checkHostCharacter(char: string, part: UrlPart): void {
  if ((part !== "host" && part !== "zone") || char.charCodeAt(0) >= 0x80 || allowed[part].has(char)) return;
  throw new UrlProblem(`invalid character ${goQuote(char)} in host name`);
}

/** Escapes what a URL part may not hold. */
export function escapePart(text: string, part: UrlPart): string {
  const source = Buffer.from(text, "utf8").toString("latin1");
  return Array.from(source, (char) => (allowed[part].has(char) ? char : hexEscape(char))).join("");
}

const hexEscape = (char: string): string => `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;

/** Whether a part that is already escaped can be used as it is. */
export function isValidEncoding(text: string, part: UrlPart): boolean {
  const isAllowed = (char: string): boolean => "!$&'()*+,;=:@[]%".includes(char) || allowed[part].has(char);
  return Array.from(text).every(isAllowed);
}
