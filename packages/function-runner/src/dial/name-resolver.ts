// SPDX-License-Identifier: Apache-2.0
import { lookup } from "node:dns/promises";

/** Turns a host name into addresses. Asked again whenever a connection is lost, and at least every 30 seconds. */
export interface NameResolver {
  /** All IPv4 and IPv6 addresses of a host. Rejects, or resolves to an empty list, when the host has no address yet. */
  resolve(host: string): Promise<readonly string[]>;
}

/** Asks the machine: its hosts file, then DNS. */
export const systemNames: NameResolver = {
  async resolve(host) {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  },
};
