// SPDX-License-Identifier: Apache-2.0

import { lookup } from "node:dns/promises";
import type { ChannelOptions } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";
import type { Endpoint } from "./endpoint.ts";

/** What one channel's resolver and balancer share with the connection that owns it. */
export interface ChannelContext {
  readonly endpoint: Endpoint;
  readonly names: NameResolver;
  readonly clock: Clock;
  /** Whether connections use TLS. */
  readonly secured: boolean;
  /** Why no address is reachable now; undefined while one is, or before the first attempt. */
  problem: string | undefined;
}

// gRPC hands a channel's options to resolvers and balancers; this prefix keeps an option away from sub-channels.
const option = "grpc.internal.no_subchannel.purlin-channel";

export function contextOptions(context: ChannelContext): ChannelOptions {
  return { [option]: context };
}

export function contextOf(options: ChannelOptions): ChannelContext {
  return options[option] as ChannelContext;
}

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
