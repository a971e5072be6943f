// SPDX-License-Identifier: Apache-2.0
import { type Cidr, cidrOf, formatIpAddress, isMappedIPv4 } from "@purlin/base";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import { goQuote } from "@purlin/kube-objects/json";

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
  const plain = `${formatIpAddress(range.address)}/${range.length}`;
  return canonical && plain !== text ? [invalidValue(path, text, `must be in canonical form (${goQuote(plain)})`)] : [];
}

function strictProblem(text: string, { address, length }: Cidr): string | undefined {
  if (cidrOf(text) === undefined) return "must not have leading 0s in IP or prefix length";
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
