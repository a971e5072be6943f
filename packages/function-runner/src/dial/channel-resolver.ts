// SPDX-License-Identifier: Apache-2.0
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { type ChannelOptions, connectivityState, experimental, Metadata, status } from "@grpc/grpc-js";
import type { Clock } from "@purlin/base";
import { textOf } from "../function-runner.ts";

/** What one channel's resolver and balancer share with the connection that owns it. */
interface ChannelContext {
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

function contextOf(options: ChannelOptions): ChannelContext {
  return options[option] as ChannelContext;
}

/** Turns a host name into addresses. Asked again whenever a connection is lost, and at least every 30 seconds. */
export interface NameResolver {
  /** All IPv4 and IPv6 addresses of a host. Rejects, or resolves to an empty list, when the host has no address yet. */
  resolve(host: string): Promise<readonly string[]>;
  /**
   * Where to connect instead, such as the local end of a port-forward; undefined to resolve the host. Certificates are held against the
   * host either way.
   */
  via?(host: string, port: number): { readonly host: string; readonly port: number } | undefined;
}

/** Asks the machine: its hosts file, then DNS. */
export const systemNames: NameResolver = {
  async resolve(host) {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => address);
  },
};

/** Where a function listens. */
export type Endpoint =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

const forms = "expected dns:///host:port, host:port or unix:path";

/** Reads an endpoint as gRPC writes it. The port is never guessed. */
export function parseEndpoint(text: string): Endpoint {
  if (text.startsWith("unix:")) return unixEndpoint(text);
  const scheme = /^([a-z][a-z0-9+.-]*):\/\/([^/]*)\/(.*)$/i.exec(text);
  if (scheme === null) return tcpEndpoint(text, text);
  const [, name, authority, address = ""] = scheme;
  if (name !== "dns") throw new Error(`endpoint "${text}" has the unknown scheme "${name}": ${forms}`);
  if (authority !== "") throw new Error(`endpoint "${text}" names a DNS server, which is not supported: ${forms}`);
  return tcpEndpoint(text, address);
}

function unixEndpoint(text: string): Endpoint {
  const path = text.slice("unix:".length).replace(/^\/\/(?=\/)/, "");
  if (path === "" || path.startsWith("//")) throw new Error(`endpoint "${text}" has no path: ${forms}`);
  return { kind: "unix", path };
}

function tcpEndpoint(text: string, address: string): Endpoint {
  const match = /^(?:\[([0-9a-f:.]+)\]|([^[\]:/\s]+)):(\d{1,5})$/i.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host === undefined || port < 1 || port > 65_535)
    throw new Error(`endpoint "${text}" has no valid host and port: ${forms}`);
  return { kind: "tcp", host, port };
}

/** The name a server certificate must carry. */
export function serverNameOf(endpoint: Endpoint): string {
  return endpoint.kind === "tcp" ? endpoint.host : "localhost";
}

/** The `:authority` of requests: the endpoint without its scheme. */
export function authorityOf(endpoint: Endpoint): string {
  if (endpoint.kind === "unix") return "localhost";
  return endpoint.host.includes(":") ? `[${endpoint.host}]:${endpoint.port}` : `${endpoint.host}:${endpoint.port}`;
}

/** Addresses are looked up again this long after the last time, so that new replicas get their share. */
export const refreshMs = 30_000;
/** However often connections fail, lookups are this far apart. */
const pauseMs = 1_000;
const firstRetryMs = 250;
const longestRetryMs = 5_000;
/** A lookup that takes longer has failed. */
const lookupLimitMs = 10_000;

/** The gRPC scheme under which our resolver answers. */
export const scheme = "purlin";

type Listener = experimental.ResolverListener;
type Addresses = readonly experimental.Endpoint[];

/**
 * Feeds a channel the addresses of its endpoint: at once, whenever gRPC asks because a connection was lost, and every 30
 * seconds. Only changes are reported, because every report makes gRPC rebuild its connections.
 */
export class ChannelResolver implements experimental.Resolver {
  readonly #listener: Listener;
  readonly #context: ChannelContext;
  #next: { readonly due: number; readonly cancel: () => void } | undefined;
  #cancelLookup: (() => void) | undefined;
  #lastLookup = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #reported: string | undefined;

  constructor(_target: experimental.GrpcUri, listener: Listener, options: ChannelOptions) {
    this.#listener = listener;
    this.#context = contextOf(options);
  }

  static getDefaultAuthority(target: experimental.GrpcUri): string {
    return authorityOf(parseEndpoint(target.path));
  }

  updateResolution(): void {
    if (this.#cancelLookup !== undefined) return;
    const wait = this.#lastLookup + pauseMs - this.#context.clock.now();
    if (wait > 0) this.#lookUpIn(wait);
    else this.#lookUp();
  }

  destroy(): void {
    this.#cancelNext();
    this.#cancelLookup?.();
    this.#cancelLookup = undefined;
    this.#reported = undefined;
    this.#lastLookup = Number.NEGATIVE_INFINITY;
  }

  #lookUpIn(delayMs: number): void {
    const { clock } = this.#context;
    const due = clock.now() + delayMs;
    if (this.#next !== undefined && this.#next.due <= due) return;
    this.#cancelNext();
    this.#next = { due, cancel: clock.schedule(delayMs, () => this.#lookUp()) };
  }

  #cancelNext(): void {
    this.#next?.cancel();
    this.#next = undefined;
  }

  #lookUp(): void {
    const { clock } = this.#context;
    this.#cancelNext();
    this.#lastLookup = clock.now();
    let answered = false;
    const answer = (settle: () => void): void => {
      if (answered) return;
      cancel();
      this.#cancelLookup = undefined;
      settle();
    };
    const cancelLimit = clock.schedule(lookupLimitMs, () =>
      answer(() => this.#failed(`no answer within ${lookupLimitMs / 1000}s`)),
    );
    const cancel = (): void => {
      answered = true;
      cancelLimit();
    };
    this.#cancelLookup = cancel;
    addressesOf(this.#context).then(
      (addresses) => answer(() => this.#found(addresses)),
      (error: unknown) => answer(() => this.#failed(textOf(error))),
    );
  }

  #found(addresses: Addresses): void {
    this.#failures = 0;
    if (!isFixed(this.#context)) this.#lookUpIn(refreshMs);
    const key = addresses.map(experimental.endpointToString).join();
    if (key === this.#reported) return;
    this.#reported = key;
    this.#listener(experimental.statusOrFromValue([...addresses]), {}, null, "");
  }

  /** Known addresses stay in use; gRPC drops an error while it has any. */
  #failed(reason: string): void {
    const { endpoint } = this.#context;
    const host = endpoint.kind === "tcp" ? endpoint.host : endpoint.path;
    this.#lookUpIn(Math.min(firstRetryMs * 2 ** this.#failures++, longestRetryMs));
    const details = `cannot look up host "${host}": ${reason}`;
    const error = { code: status.UNAVAILABLE, details, metadata: new Metadata() };
    this.#listener(experimental.statusOrFromError(error), {}, null, "");
  }
}

function isFixed({ endpoint }: ChannelContext): boolean {
  return endpoint.kind === "unix" || isIP(endpoint.host) !== 0;
}

async function addressesOf({ endpoint, names }: ChannelContext): Promise<Addresses> {
  if (endpoint.kind === "unix") return [{ addresses: [{ path: endpoint.path }] }];
  const { host, port } = endpoint;
  const via = names.via?.(host, port);
  if (via !== undefined) return [{ addresses: [via] }];
  const hosts = isIP(host) === 0 ? await names.resolve(host) : [host];
  if (hosts.length === 0) throw new Error("it has no addresses");
  const addresses = [...new Set(hosts)].sort().map((address) => ({ host: address, port }));
  // Both addresses of localhost are the same server: try one, then the other, instead of balancing between them.
  if (host === "localhost") return [{ addresses }];
  return addresses.map((address) => ({ addresses: [address] }));
}

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
