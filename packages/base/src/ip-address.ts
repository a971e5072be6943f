// SPDX-License-Identifier: Apache-2.0
// IP addresses and CIDR prefixes, read as Go's net/netip reads them.

/** An IP address as a number of 32 or 128 bits. */
export interface IpAddress {
  readonly bits: 32 | 128;
  readonly value: bigint;
  /** The zone of an IPv6 address; empty for none. */
  readonly zone: string;
}

/** An address and the length of its prefix. */
export interface Cidr {
  readonly address: IpAddress;
  readonly length: number;
}

/** How addresses are read. */
interface IpSyntax {
  /** Accept numbers with leading zeros, as Go before 1.17 did and fields of Kubernetes from that time still do. */
  readonly leadingZeros?: boolean;
}

/** Text that is not an IP address or a CIDR prefix. The message is that of net/netip. */
export class IpSyntaxError extends Error {
  /** Whether the address is wrong, or the prefix it is in. */
  readonly of: "address" | "prefix";
  /** The text from the first wrong character on; empty where net/netip does not print it. */
  readonly rest: string;

  constructor(of: "address" | "prefix", message: string, rest = "") {
    super(message);
    this.of = of;
    this.rest = rest;
  }
}

function fail(message: string, rest?: string): never {
  throw new IpSyntaxError("address", message, rest);
}

function failPrefix(message: string, rest?: string): never {
  throw new IpSyntaxError("prefix", message, rest);
}

/** Parses an IPv4 or IPv6 address. Throws an IpSyntaxError. */
export function parseIpAddress(text: string, { leadingZeros = false }: IpSyntax = {}): IpAddress {
  const [mark] = /[.:%]/.exec(text) ?? [];
  if (mark === ".") return { bits: 32, value: parseIPv4(text, leadingZeros), zone: "" };
  if (mark === ":") return parseIPv6(text, leadingZeros);
  return fail(mark === "%" ? "missing IPv6 address" : "unable to parse IP");
}

/** The address, or undefined for text that is not an address. */
export function ipAddressOf(text: string, syntax?: IpSyntax): IpAddress | undefined {
  try {
    return parseIpAddress(text, syntax);
  } catch (error) {
    if (error instanceof IpSyntaxError) return undefined;
    throw error;
  }
}

/** Parses an address with the length of its prefix. Throws an IpSyntaxError. */
export function parseCidr(text: string, syntax: IpSyntax = {}): Cidr {
  const slash = text.lastIndexOf("/");
  if (slash < 0) failPrefix("no '/'");
  const address = parseIpAddress(text.slice(0, slash), syntax);
  if (address.zone !== "") failPrefix("IPv6 zones cannot be present in a prefix");
  const bits = text.slice(slash + 1);
  const pattern = syntax.leadingZeros ? /^\d+$/ : /^(?:\d|[1-9]\d{0,17})$/;
  if (!pattern.test(bits)) failPrefix("bad bits after slash", bits);
  if (Number(bits) > address.bits) failPrefix("prefix length out of range");
  return { address, length: Number(bits) };
}

/** The prefix, or undefined for text that is not a prefix. */
export function cidrOf(text: string, syntax?: IpSyntax): Cidr | undefined {
  try {
    return parseCidr(text, syntax);
  } catch (error) {
    if (error instanceof IpSyntaxError) return undefined;
    throw error;
  }
}

function parseIPv4(text: string, leadingZeros: boolean): bigint {
  let value = 0;
  let field = noDigit;
  let fields = 0;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    if (code >= zero && code <= zero + 9) {
      if (field === 0 && !leadingZeros) fail("IPv4 field has octet with leading zero");
      field = Math.max(field, 0) * 10 + code - zero;
      if (field > 255) fail("IPv4 field has value >255");
    } else if (code === point) {
      if (field === noDigit || index === text.length - 1) {
        fail("IPv4 field must have at least one digit", text.slice(index));
      }
      if (fields === 3) fail("IPv4 address too long");
      value = value * 256 + field;
      fields++;
      field = noDigit;
    } else fail("unexpected character", text.slice(index));
  }
  if (fields < 3) fail("IPv4 address too short");
  return BigInt(value * 256 + Math.max(field, 0));
}

const noDigit = -1;
const zero = 48;
const point = 46;

interface Groups {
  readonly values: bigint[];
  readonly leadingZeros: boolean;
  /** Where `::` stands, as a number of groups before it. */
  gap: number | undefined;
  rest: string;
}

function parseIPv6(input: string, leadingZeros: boolean): IpAddress {
  const percent = input.indexOf("%");
  const zone = percent < 0 ? "" : input.slice(percent + 1);
  if (percent >= 0 && zone === "") fail("zone must be a non-empty string");
  const text = percent < 0 ? input : input.slice(0, percent);
  const groups: Groups = { values: [], leadingZeros, gap: undefined, rest: text };
  if (text.startsWith("::")) {
    groups.gap = 0;
    groups.rest = text.slice(2);
  }
  if (groups.rest !== "" || groups.gap === undefined) readGroups(groups);
  return { bits: 128, value: joinGroups(groups), zone };
}

function readGroups(groups: Groups): void {
  while (groups.values.length < 8) {
    const [digits = ""] = /^[0-9a-fA-F]*/.exec(groups.rest) ?? [];
    const significant = groups.leadingZeros ? digits.replace(/^0+(?=.)/, "") : digits;
    if (significant.length > 4) fail("each group must have 4 or less digits", groups.rest);
    if (digits === "") fail("each colon-separated field must have at least one digit", groups.rest);
    // The last two groups may be written as an IPv4 address.
    if (groups.rest[digits.length] === ".") {
      readEmbedded(groups);
      return;
    }
    groups.values.push(BigInt(`0x${significant}`));
    groups.rest = groups.rest.slice(digits.length);
    if (groups.rest === "") return;
    if (!groups.rest.startsWith(":")) fail("unexpected character, want colon", groups.rest);
    if (groups.rest.length === 1) fail("colon must be followed by more characters", groups.rest);
    groups.rest = groups.rest.slice(1);
    if (groups.rest.startsWith(":")) {
      if (groups.gap !== undefined) fail("multiple :: in address", groups.rest);
      groups.gap = groups.values.length;
      groups.rest = groups.rest.slice(1);
      if (groups.rest === "") return;
    }
  }
}

function readEmbedded(groups: Groups): void {
  const count = groups.values.length;
  if (groups.gap === undefined && count !== 6) {
    fail("embedded IPv4 address must replace the final 2 fields of the address", groups.rest);
  }
  if (count > 6) fail("too many hex fields to fit an embedded IPv4 at the end of the address", groups.rest);
  const value = parseIPv4(groups.rest, groups.leadingZeros);
  groups.values.push(value >> 16n, value & 0xffffn);
  groups.rest = "";
}

function joinGroups({ values, gap, rest }: Groups): bigint {
  if (rest !== "") fail("trailing garbage after address", rest);
  const missing = 8 - values.length;
  if (missing > 0 && gap === undefined) fail("address string too short");
  if (missing === 0 && gap !== undefined) fail("the :: must expand to at least one field of zeros");
  const all = values.toSpliced(gap ?? 0, 0, ...new Array<bigint>(missing).fill(0n));
  return all.reduce((sum, group) => (sum << 16n) | group, 0n);
}

/** Whether an IPv6 address stands for an IPv4 address (`::ffff:10.1.2.3`). */
export const isMappedIPv4 = ({ bits, value }: IpAddress): boolean => bits === 128 && value >> 32n === 0xffffn;

/** The canonical text of an address. */
export function formatIpAddress({ bits, value, zone }: IpAddress): string {
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
