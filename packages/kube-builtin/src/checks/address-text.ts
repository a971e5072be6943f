// SPDX-License-Identifier: Apache-2.0
import { formatIpAddress, type IpAddress, ipAddressOf, isMappedIPv4 } from "@purlin/base";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";

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

/** The same as an error at a field. */
export function addressErrors(address: string, path: string): FieldError[] {
  const problem = addressProblem(address);
  return problem === undefined ? [] : [invalidValue(path, address, problem)];
}
