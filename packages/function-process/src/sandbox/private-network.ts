// SPDX-License-Identifier: Apache-2.0
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect, createServer, Socket } from "node:net";
import { findProgram } from "./find-bwrap.ts";
import { type Connector, networkScript } from "./sandbox-arguments.ts";

/** Opens sockets in the network of a sandboxed function. */
export interface PrivateNetwork {
  /** A socket that is connected with the function. Rejects when it does not listen. */
  open(): Promise<Socket>;
}

/** How long to wait for the connector's response. */
const timeoutMs = 10_000;

interface Answer {
  readonly opened?: number;
  readonly failed?: number;
  readonly code?: string;
}

/** A message of a connector that also listens. */
interface InwardMessage {
  readonly ready?: boolean;
  readonly problem?: string;
  readonly accepted?: boolean;
}

/** Each connection takes two file descriptors of this process, which must not run out: clients of an API server need a few. */
const maxInward = 500;

/**
 * Forwards the connections that a connector accepts in its network to an address of this machine; those beyond a number are closed at once.
 * Resolves when the connector listens.
 */
export function forwardInward(
  child: ChildProcess,
  to: { readonly host: string; readonly port: number },
  most: number = maxInward,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let open = 0;
  const admit = (inside: Socket): void => {
    if (open >= most) return void inside.destroy();
    open++;
    inside.once("close", () => {
      open--;
    });
    forward(inside, connect({ ...to, noDelay: true }));
  };
  child.on("message", ({ ready, problem = "", accepted }: InwardMessage, handle: unknown) => {
    if (ready === true) resolve();
    if (ready === false) reject(new Error(`cannot listen in the private network: ${problem}`));
    if (accepted === true && handle instanceof Socket) admit(handle);
  });
  child.once("exit", () => reject(new Error("the private network ended before it was ready")));
  return promise;
}

/** Connects two sockets. Closes both when either closes, so that the client sees the same as on a direct connection. */
function forward(outside: Socket, inside: Socket): void {
  const end = (): void => {
    outside.destroy();
    inside.destroy();
  };
  for (const socket of [outside, inside]) socket.on("error", end).on("close", end);
  if (outside.destroyed) end();
  outside.pipe(inside);
  inside.pipe(outside);
}

/** The network of a child whose connector has the other end of its channel. */
export function privateNetworkOf(child: ChildProcess): PrivateNetwork {
  const asked = new Map<number, { resolve: (socket: Socket) => void; reject: (error: Error) => void }>();
  let last = 0;
  const refuse = (id: number, why: string): void => {
    asked.get(id)?.reject(new Error(`cannot connect in the sandbox network: ${why}`));
    asked.delete(id);
  };
  child.on("message", ({ opened, failed, code = "" }: Answer, handle: unknown) => {
    if (failed !== undefined) return refuse(failed, code);
    if (opened === undefined || !(handle instanceof Socket)) return;
    const waiting = asked.get(opened);
    asked.delete(opened);
    // The request timed out.
    if (waiting === undefined) handle.destroy();
    else waiting.resolve(handle);
  });
  child.once("exit", () => {
    for (const id of asked.keys()) refuse(id, "it exited");
  });
  return {
    open() {
      const id = ++last;
      const { promise, resolve, reject } = Promise.withResolvers<Socket>();
      asked.set(id, { resolve, reject });
      const limit = setTimeout(() => refuse(id, `no response from its network for ${timeoutMs / 1000}s`), timeoutMs);
      child.send({ open: id }, (error) => {
        if (error !== null) refuse(id, error.message);
      });
      return promise.finally(() => clearTimeout(limit));
    },
  };
}

/** A Unix socket that forwards connections into the network of a sandboxed function. */
interface ProxySocket {
  /** Forwards new connections to this network. */
  attach(to: PrivateNetwork): void;
  /** Accepts no more connections. */
  close(): void;
}

/** The attached network of each path. */
const networks = new Map<string, PrivateNetwork>();

/** A direct connection to the network attached to a path; undefined when none is attached in this process. */
export function openBehind(path: string): Promise<Socket> | undefined {
  return networks.get(path)?.open();
}

/** Listens at a path that no other process uses. */
export async function openProxySocket(path: string): Promise<ProxySocket> {
  const server = createServer({ noDelay: true }, (outside) => admit(outside, networks.get(path)));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(path, resolve);
  });
  return {
    attach: (to) => void networks.set(path, to),
    close() {
      networks.delete(path);
      server.close();
    },
  };
}

/** Opens the inner connection with the client's first bytes: clients that connect directly only check whether the path accepts connections. */
function admit(outside: Socket, network: PrivateNetwork | undefined): void {
  outside.on("error", () => {});
  if (network === undefined) return void outside.destroy();
  outside.once("readable", () => {
    if (outside.readableLength === 0) return void outside.destroy();
    network.open().then(
      (inside) => forward(outside, inside),
      () => outside.destroy(),
    );
  });
}

/** How a function gets a network of its own where there is no bubblewrap: by the program `unshare` of util-linux. */
export interface UnsharedNetwork {
  /** Its absolute path. */
  readonly unshare: string;
}

const probeTimeoutMs = 60_000;

/** Brings up the loopback interface of a new network: by the files of the kernel, as there may be no program for it, or by one. */
const raiseLoopback = `
raise() { mount -t sysfs purlin /sys && echo 0x9 >/sys/class/net/lo/flags && umount /sys; }
raise 2>/dev/null || ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || exit 1
`;

/** As root of a user namespace, then in a network that belongs to it: made at once, the network would belong to the machine's root. */
export function inNetwork({ unshare }: UnsharedNetwork, script: string, words: readonly string[]): string[] {
  const user = [unshare, "--user", "--map-root-user", "--"];
  const network = [unshare, "--net", "--mount", "--"];
  return [...user, ...network, "/bin/sh", "-c", `${raiseLoopback}${script}`, ...words];
}

/** The words that run a command in such a network as the user who started the control plane again. */
export function asOwnUser({ unshare }: UnsharedNetwork, command: readonly string[]): string[] {
  const ids = [`--map-user=${process.getuid?.() ?? 0}`, `--map-group=${process.getgid?.() ?? 0}`];
  return [unshare, "--user", ...ids, "--", ...command];
}

/** A network with a connector in it, for a function whose command comes later. */
export function unsharedNetworkCommand(network: UnsharedNetwork, { node, program, port }: Connector): string[] {
  return inNetwork(network, networkScript, ["purlin-network", node, program, port]);
}

/** Checks whether this user can create networks without bubblewrap; undefined if not. */
export async function findUnsharedNetwork(
  env: Readonly<Record<string, string | undefined>>,
): Promise<UnsharedNetwork | undefined> {
  const found = findProgram("unshare", env);
  if ("reason" in found || process.platform !== "linux") return undefined;
  const network = { unshare: found.path };
  const [command = "", ...args] = inNetwork(network, 'exec "$@"', [
    "sh",
    ...asOwnUser(network, ["/bin/sh", "-c", ":"]),
  ]);
  const child = spawn(command, args, { env: { PATH: searchPath }, stdio: "ignore", timeout: probeTimeoutMs });
  const code = await once(child, "exit").then(
    ([exitCode]) => exitCode as number | null,
    () => null,
  );
  return code === 0 ? network : undefined;
}

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
