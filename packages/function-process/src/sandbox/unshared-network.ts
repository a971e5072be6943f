// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { findProgram } from "./find-bwrap.ts";
import { type Connector, networkScript } from "./sandbox-arguments.ts";

/** How a function gets a network of its own where there is no bubblewrap: by the program `unshare` of util-linux. */
export interface UnsharedNetwork {
  /** Its absolute path. */
  readonly unshare: string;
}

const timeoutMs = 60_000;

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

/** Looks whether this user can make networks without bubblewrap; undefined where that is not so. */
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
  const child = spawn(command, args, { env: { PATH: searchPath }, stdio: "ignore", timeout: timeoutMs });
  const code = await once(child, "exit").then(
    ([exitCode]) => exitCode as number | null,
    () => null,
  );
  return code === 0 ? network : undefined;
}

const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
