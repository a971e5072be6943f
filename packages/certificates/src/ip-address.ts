// SPDX-License-Identifier: Apache-2.0
import { isIPv4, isIPv6 } from "node:net";

/** The 4 or 16 bytes of an address, as a subject alternative name holds them. */
export function ipAddressBytes(address: string): Buffer {
  if (isIPv4(address)) {
    return Buffer.from(address.split(".").map(Number));
  }
  // A zone ("%eth0") names an interface of one machine and has no place in a certificate.
  if (!isIPv6(address) || address.includes("%")) {
    throw new Error(`cannot put "${address}" into a certificate: not an IPv4 or IPv6 address`);
  }
  const [head = "", tail] = address.split("::");
  const left = groups(head);
  const right = tail === undefined ? [] : groups(tail);
  const missing = Buffer.alloc(16 - left.length - right.length);
  return Buffer.concat([Buffer.from(left), missing, Buffer.from(right)]);
}

function groups(part: string): number[] {
  return part === "" ? [] : part.split(":").flatMap(groupBytes);
}

function groupBytes(group: string): number[] {
  if (group.includes(".")) {
    return group.split(".").map(Number);
  }
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
