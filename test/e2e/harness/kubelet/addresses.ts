// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";

/** Hands out loopback addresses that other programs are unlikely to use: every address of 127/8 works on Linux. */
export function createAddresses(): () => string {
  const net = `127.${randomInt(16, 250)}.${randomInt(1, 250)}`;
  let last = 0;
  return () => `${net}.${++last}`;
}
