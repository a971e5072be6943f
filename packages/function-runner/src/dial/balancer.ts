// SPDX-License-Identifier: Apache-2.0
import { type ChannelOptions, connectivityState, experimental } from "@grpc/grpc-js";
import { type ChannelContext, contextOf } from "./channel-resolver.ts";

/** The name under which our balancer is chosen in a service config. */
export const policy = "purlin_round_robin";

/** The balancer takes no settings. */
export class BalancerConfig implements experimental.TypedLoadBalancingConfig {
  getLoadBalancerName(): string {
    return policy;
  }

  toJsonObject(): object {
    return { [policy]: {} };
  }

  static createFromJson(): BalancerConfig {
    return new BalancerConfig();
  }
}

/**
 * gRPC's round robin, which also keeps the reason why nothing can be reached. A call that waits for a connection ends
 * with its deadline and no word about the cause; the cause is what a user needs.
 */
export class Balancer implements experimental.LoadBalancer {
  readonly #roundRobin: experimental.ChildLoadBalancerHandler;
  #context: ChannelContext | undefined;

  constructor(channel: experimental.ChannelControlHelper) {
    const observed = experimental.createChildChannelControlHelper(channel, {
      updateState: (state, picker, problem) => {
        this.#keep(state, problem);
        channel.updateState(state, picker, problem);
      },
    });
    this.#roundRobin = new experimental.ChildLoadBalancerHandler(observed);
  }

  #keep(state: connectivityState, problem: string | null): void {
    if (this.#context === undefined) return;
    if (state === connectivityState.READY) this.#context.problem = undefined;
    else if (problem !== null) this.#context.problem = explain(causeIn(problem), this.#context);
  }

  updateAddressList(
    ...[endpoints, , options, note]: Parameters<experimental.LoadBalancer["updateAddressList"]>
  ): boolean {
    this.#context = contextOf(options as ChannelOptions);
    const config = experimental.parseLoadBalancingConfig({ round_robin: {} });
    return this.#roundRobin.updateAddressList(endpoints, config, options, note);
  }

  exitIdle(): void {
    this.#roundRobin.exitIdle();
  }

  resetBackoff(): void {
    this.#roundRobin.resetBackoff();
  }

  destroy(): void {
    this.#roundRobin.destroy();
  }

  getTypeName(): string {
    return policy;
  }
}

/**
 * The innermost cause in gRPC's and OpenSSL's text, without times and addresses: a message that changes would churn every
 * condition it gets into.
 */
function causeIn(text: string): string {
  return text
    .replace(/^.*No connection established\. Last error: /s, "")
    .replace(/\. Resolution note: .*$/s, "")
    .replace(/ \(\d{4}-\d\d-\d\dT[\d:.]+Z\)/g, "")
    .replace(/^Error: /, "")
    .replace(/(?:write EPROTO )?[0-9A-F]{8,}:error:[0-9A-F]+:[^:]*:[^:]*:([^:]+):.*$/s, "$1");
}

/** gRPC has this one phrase for a peer that hangs up before it has said anything, which has few causes. */
function explain(cause: string, { secured }: ChannelContext): string {
  if (cause !== "Failed to connect") return cause;
  return secured
    ? "it closed the connection at once: does it accept the runner's certificate?"
    : "it closed the connection at once: does it expect TLS?";
}
