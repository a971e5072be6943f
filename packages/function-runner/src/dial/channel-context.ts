// SPDX-License-Identifier: Apache-2.0

import type { ChannelOptions } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";
import type { Endpoint } from "./endpoint.ts";
import type { NameResolver } from "./name-resolver.ts";

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
