// SPDX-License-Identifier: Apache-2.0
import { goQuote } from "@purlin/kube-objects/json";

/** An IP address as a number of 32 or 128 bits. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
  readonly zone: string;
}

/** A string that is not an IP address, in the words of Go's net/netip. */
export class AddressProblem extends Error {}

function fail(input: string, message: string, at = ""): never {
  const where = at === "" ? "" : ` (at ${goQuote(at)})`;
  throw new AddressProblem(`ParseAddr(${goQuote(input)}): ${message}${where}`);
}

export function parseAddress(input: string): IpAddress {
  const [mark] = /[.:%]/.exec(input) ?? [];
  if (mark === ".") return { bits: 32, value: parseIPv4(input, input), zone: "" };
  if (mark === ":") return parseIPv6(input);
  return fail(input, mark === "%" ? "missing IPv6 address" : "unable to parse IP");
}

function parseIPv4(input: string, text: string): bigint {
  let value = 0n;
  let field = "";
  let fields = 0;
  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index);
    if (char >= "0" && char <= "9") {
      if (field === "0") fail(input, "IPv4 field has octet with leading zero");
      field += char;
      if (Number(field) > 255) fail(input, "IPv4 field has value >255");
    } else if (char === ".") {
      if (field === "" || index === text.length - 1) {
        fail(input, "IPv4 field must have at least one digit", text.slice(index));
      }
      if (fields === 3) fail(input, "IPv4 address too long");
      value = (value << 8n) | BigInt(field);
      fields++;
      field = "";
    } else fail(input, "unexpected character", text.slice(index));
  }
  if (fields < 3) fail(input, "IPv4 address too short");
  return (value << 8n) | BigInt(field || "0");
}

interface Groups {
  readonly values: bigint[];
  /** Where `::` stands, as a number of groups before it. */
  gap: number | undefined;
  rest: string;
}

function parseIPv6(input: string): IpAddress {
  const percent = input.indexOf("%");
  const zone = percent < 0 ? "" : input.slice(percent + 1);
  if (percent >= 0 && zone === "") fail(input, "zone must be a non-empty string");
  const text = percent < 0 ? input : input.slice(0, percent);
  const groups: Groups = { values: [], gap: undefined, rest: text };
  if (text.startsWith("::")) {
    groups.gap = 0;
    groups.rest = text.slice(2);
  }
  if (groups.rest !== "" || groups.gap === undefined) readGroups(input, groups);
  return { bits: 128, value: joinGroups(input, groups), zone };
}

function readGroups(input: string, groups: Groups): void {
  while (groups.values.length < 8) {
    const [digits = ""] = /^[0-9a-fA-F]*/.exec(groups.rest) ?? [];
    if (digits.length > 4) fail(input, "each group must have 4 or less digits", groups.rest);
    if (digits === "") fail(input, "each colon-separated field must have at least one digit", groups.rest);
    if (groups.rest[digits.length] === ".") {
      readEmbedded(input, groups);
      return;
    }
    groups.values.push(BigInt(`0x${digits}`));
    groups.rest = groups.rest.slice(digits.length);
    if (groups.rest === "") return;
    if (!groups.rest.startsWith(":")) fail(input, "unexpected character, want colon", groups.rest);
    if (groups.rest.length === 1) fail(input, "colon must be followed by more characters", groups.rest);
    groups.rest = groups.rest.slice(1);
    if (groups.rest.startsWith(":")) {
      if (groups.gap !== undefined) fail(input, "multiple :: in address", groups.rest);
      groups.gap = groups.values.length;
      groups.rest = groups.rest.slice(1);
      if (groups.rest === "") return;
    }
  }
}

function readEmbedded(input: string, groups: Groups): void {
  const count = groups.values.length;
  if (groups.gap === undefined && count !== 6) {
    fail(input, "embedded IPv4 address must replace the final 2 fields of the address", groups.rest);
  }
  if (count > 6) fail(input, "too many hex fields to fit an embedded IPv4 at the end of the address", groups.rest);
  const value = parseIPv4(input, groups.rest);
  groups.values.push(value >> 16n, value & 0xffffn);
  groups.rest = "";
}

function joinGroups(input: string, { values, gap, rest }: Groups): bigint {
  if (rest !== "") fail(input, "trailing garbage after address", rest);
  const missing = 8 - values.length;
  if (missing > 0 && gap === undefined) fail(input, "address string too short");
  if (missing === 0 && gap !== undefined) fail(input, "the :: must expand to at least one field of zeros");
  const all = values.toSpliced(gap ?? 0, 0, ...new Array<bigint>(missing).fill(0n));
  return all.reduce((sum, group) => (sum << 16n) | group, 0n);
}

export const isMappedIPv4 = ({ bits, value }: IpAddress): boolean => bits === 128 && value >> 32n === 0xffffn;

export function formatAddress({ bits, value, zone }: IpAddress): string {
  if (bits === 32) return [24n, 16n, 8n, 0n].map((shift) => (value >> shift) & 0xffn).join(".");
  const groups = Array.from({ length: 8 }, (_, index) => (value >> BigInt(112 - index * 16)) & 0xffffn);
  const suffix = zone === "" ? "" : `%${zone}`;
  const hex = groups.map((group) => group.toString(16));
  const { start, length } = longestZeros(groups);
  if (length < 2) return hex.join(":") + suffix;
  return `${hex.slice(0, start).join(":")}::${hex.slice(start + length).join(":")}${suffix}`;
}

function longestZeros(groups: readonly bigint[]): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (groups[end] === 0n) end++;
    if (end - start > best.length) best = { start, length: end - start };
  }
  return best;
}
