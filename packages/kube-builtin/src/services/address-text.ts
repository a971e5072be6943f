// SPDX-License-Identifier: Apache-2.0
import { isIP } from "node:net";
import { type FieldError, invalidValue } from "@purlin/kube-objects/errors";

/** The error about a text that is not an address. */
export const addressText: string = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/** An address as everybody reads it: without zeros in front, and one of the older kind that is wrapped in the newer as what it is. */
export function plainAddress(address: string): string {
  const trimmed = address.replace(/(?<=^|\.)0+(?=\d)/g, "");
  if (isIP(trimmed) === 4) return trimmed;
  const written = isAddress(address) ? new URL(`http://[${address}]`).hostname : "";
  const [, high, low] = /^\[::ffff:([0-9a-f]+):([0-9a-f]+)\]$/.exec(written) ?? [];
  if (high === undefined || low === undefined) return address;
  return [high, low]
    .map((part) => Number.parseInt(part, 16))
    .map((part) => `${part >> 8}.${part & 255}`)
    .join(".");
}

/** An address of either kind, of every machine alike: without the name of one of its interfaces. */
const isAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes("%");

/** What is wrong with an address; some are written so that not everybody reads them alike. */
export function addressProblem(address: string): string | undefined {
  const plain = plainAddress(address);
  if (plain !== address) {
    return address.includes(":") ? "must not be an IPv4-mapped IPv6 address" : "must not have leading 0s";
  }
  return isAddress(address) ? undefined : addressText;
}

/** The same as an error at a field. */
export function addressErrors(address: string, path: string): FieldError[] {
  const problem = addressProblem(address);
  return problem === undefined ? [] : [invalidValue(path, address, problem)];
}
