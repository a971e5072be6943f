// SPDX-License-Identifier: Apache-2.0

import { isIP } from "node:net";
import { type Cidr, cidrOf, formatIpAddress, type IpAddress, ipAddressOf, isMappedIPv4 } from "@purlin/base";
import { parseUrl, UrlSyntaxError } from "@purlin/cel";
import { type Check, eachItem, listAt, maybeNamed, within } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { stringAt } from "@purlin/kube-objects/object";

/** The error about text that is not an address. */
export const addressText: string = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/** The address in the one form that all readers agree on: without leading zeros, and an IPv4-mapped IPv6 address as IPv4. */
export function plainAddress(text: string): string {
  const address = addressOf(text);
  if (address === undefined) return text;
  if (address.bits === 32) return formatIpAddress(address);
  return isMappedIPv4(address) ? formatIpAddress({ bits: 32, value: address.value & 0xffff_ffffn, zone: "" }) : text;
}

/** An IPv4 address, leading zeros accepted, or an IPv6 address without a zone. */
function addressOf(text: string): IpAddress | undefined {
  const address = ipAddressOf(text, { leadingZeros: !text.includes(":") });
  return address?.zone === "" ? address : undefined;
}

/** Whether text is an address of a family. */
export function isOfFamily(text: string, family: 4 | 6): boolean {
  return addressOf(text)?.bits === (family === 4 ? 32 : 128);
}

/** What is wrong with an address, also where some programs would read it and others not. */
export function addressProblem(text: string): string | undefined {
  if (plainAddress(text) !== text) {
    return text.includes(":") ? "must not be an IPv4-mapped IPv6 address" : "must not have leading 0s";
  }
  return addressOf(text) === undefined ? addressText : undefined;
}

/** What is wrong with an address that must be written in the one canonical way. */
export function canonicalAddressProblem(text: string): string | undefined {
  const [problem, plain] = [addressProblem(text), canonicalAddress(text)];
  return problem ?? (plain === text ? undefined : `must be in canonical form (${goQuote(plain)})`);
}

/** A valid address in its canonical form; any other text as it is. */
function canonicalAddress(text: string): string {
  const address = addressProblem(text) === undefined ? addressOf(text) : undefined;
  return address === undefined ? text : formatIpAddress(address);
}

/** A text with its path. */
export type Placed = readonly [text: string, path: string];

/** At most this many addresses of one object are looked at: an answer has no room for more warnings. */
const mostPlaces = 1000;

/** The warnings about the first addresses, or ranges, of an object. */
export function firstWarnings(
  places: Generator<Placed>,
  warningsOf: (text: string, path: string) => string[] = addressWarnings,
): string[] {
  return [...places.take(mostPlaces).flatMap(([text, path]) => warningsOf(text, path))];
}

/** A warning about a valid address that is not written in the canonical way. Only IPv6 addresses have other ways. */
export function addressWarnings(address: string, path: string): string[] {
  if (!address.includes(":")) return [];
  const canonical = canonicalAddress(address);
  const why = `should be in RFC 5952 canonical format (${goQuote(canonical)})`;
  return canonical === address ? [] : [`${path}: IPv6 address ${goQuote(address)} ${why}`];
}

/** What kind of address, local to each machine or to each network, a text is; undefined for all others. */
export function localKindOf(
  text: string,
): "unspecified" | "loopback" | "link-local" | "link-local multicast" | undefined {
  const address = addressOf(plainAddress(text));
  if (address === undefined) return undefined;
  const { bits, value } = address;
  const starts = (length: number): bigint => value >> BigInt(bits - length);
  const isIPv4 = bits === 32;
  if (value === 0n) return "unspecified";
  if (isIPv4 ? starts(8) === 127n : value === 1n) return "loopback";
  if (isIPv4 ? starts(16) === 0xa9fen : starts(10) === 0x3fan) return "link-local";
  const isMulticast = isIPv4 ? starts(24) === 0xe00000n : starts(8) === 0xffn && (starts(16) & 0xfn) === 2n;
  return isMulticast ? "link-local multicast" : undefined;
}

/** The problem of an address as an error at a field. */
export function addressErrors(address: string, path: string): FieldError[] {
  const problem = addressProblem(address);
  return problem === undefined ? [] : [invalidValue(path, address, problem)];
}

/** The error about a host that is an address. */
export const notAddress: string = "must be a DNS name, not an IP address";

/** The addresses of a load balancer in a status. */
export const loadBalancer: Check = within(
  "loadBalancer",
  eachItem("ingress", (one, path) => {
    const [ip, host] = [stringAt(one, ["ip"]), stringAt(one, ["hostname"])];
    return [
      ...(ip === "" ? [] : addressErrors(ip, `${path}.ip`)),
      ...maybeNamed("hostname", dns1123SubdomainProblems)(one, path),
      ...(isIP(host) === 0 ? [] : [invalidValue(`${path}.hostname`, host, notAddress)]),
    ];
  }),
);

/** Warnings about the addresses of a load balancer in a status. */
export function balancerWarnings(object: JsonObject): string[] {
  return firstWarnings(balancerAddresses(object));
}

function* balancerAddresses(object: JsonObject): Generator<Placed> {
  const path = "status.loadBalancer.ingress";
  for (const [index, one] of listAt(object, ...path.split(".")).entries()) {
    yield [stringAt(one, ["ip"]), `${path}[${index}]`];
  }
}

/** The range of a CIDR, leading zeros accepted. */
export const rangeOf = (text: string): Cidr | undefined => cidrOf(text, { leadingZeros: true });

/** The errors of a range of addresses. `canonical` accepts only the one way to write it. */
export function rangeErrors(
  text: string,
  path: string,
  { canonical = false }: { readonly canonical?: boolean } = {},
): FieldError[] {
  const range = rangeOf(text);
  if (range === undefined) {
    return [invalidValue(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")];
  }
  const problem = strictProblem(text, range);
  if (problem !== undefined) return [invalidValue(path, text, problem)];
  if (!canonical) return [];
  const plain = `${formatIpAddress(range.address)}/${range.length}`;
  return plain === text ? [] : [invalidValue(path, text, `must be in canonical form (${goQuote(plain)})`)];
}

/** A warning about a valid range that is not written in the canonical way. */
export function rangeWarnings(text: string, path: string): string[] {
  if (!text.includes(":")) return [];
  const range = rangeOf(text);
  if (range === undefined || strictProblem(text, range) !== undefined) return [];
  const canonical = `${formatIpAddress(range.address)}/${range.length}`;
  const why = `should be in RFC 5952 canonical format (${goQuote(canonical)})`;
  return canonical === text ? [] : [`${path}: IPv6 CIDR value ${goQuote(text)} ${why}`];
}

/** A number that may have leading zeros: only then are there two ways to read a range. */
const leadingZero = /(?:^|[./:])0[0-9a-f]/i;

function strictProblem(text: string, { address, length }: Cidr): string | undefined {
  if (leadingZero.test(text) && cidrOf(text) === undefined) return "must not have leading 0s in IP or prefix length";
  if (isMappedIPv4(address)) return "must not have an IPv4-mapped IPv6 address";
  return maskedValue({ address, length }) === address.value
    ? undefined
    : "must not have bits set beyond the prefix length";
}

function maskedValue({ address, length }: Cidr, bits = length): bigint {
  const rest = BigInt(address.bits - bits);
  return (address.value >> rest) << rest;
}

/** Whether a range is inside another one, and smaller. */
export function isStrictlyInside(inner: Cidr, outer: Cidr): boolean {
  const isSameFamily = inner.address.bits === outer.address.bits;
  return isSameFamily && inner.length > outer.length && maskedValue(inner, outer.length) === maskedValue(outer);
}

/** What Go says about a URI in a certificate. */
export function uriProblem(text: string): string | undefined {
  const wrong = (why: string): string => `cannot parse URI ${goQuote(text)}: ${why}`;
  try {
    const { host } = parseUrl(text);
    const isDomain = host === "" || (/^[!-~]+$/.test(host) && host.split(".").every((label) => label !== ""));
    return isDomain ? undefined : wrong("invalid domain");
  } catch (error) {
    if (error instanceof UrlSyntaxError) return wrong(error.message);
    throw error;
  }
}
