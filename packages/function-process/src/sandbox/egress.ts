// SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readlinkSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { processesBelow } from "../limits/marked-processes.ts";
import { type GuardedProcess, spawnGuarded } from "../spawn/guarded-process.ts";
import { findProgram } from "./find-bwrap.ts";
import type { SandboxSupport } from "./find-sandbox.ts";
import { inNetwork } from "./private-network.ts";
import { privateNetworkArguments } from "./sandbox-arguments.ts";

/** The program that connects a private network with the networks of this machine. */
export interface Egress {
  readonly kind: "pasta" | "slirp4netns";
  /** Its absolute path. */
  readonly path: string;
}

/** Whether private networks can reach others on this machine, and if not, why. */
export type EgressSupport =
  | ({ readonly isSupported: true } & Egress)
  | { readonly isSupported: false; readonly reason: string };

type Environment = Readonly<Record<string, string | undefined>>;

// biome-ignore lint/style/noProcessEnv: only the environment says where programs are on this machine.
const machineEnv: Environment = process.env;

/** The name server of a private network whose machine has a name server on loopback only. slirp4netns always serves this address. */
const forwardedNameServer = "10.0.2.3";

/** How long a network may take to be connected, also on a busy machine. */
const readyMs = 20_000;
const pollMs = 20;

/** The environment variable that names the program, or disables private networks of Providers with `none`. */
const egressVariable = "PURLIN_EGRESS";

/** Looks for pasta, then for slirp4netns, and tries what it finds: both need `/dev/net/tun` and a network to forward to. */
export async function findEgress(sandbox: SandboxSupport, env: Environment = machineEnv): Promise<EgressSupport> {
  const command = idleNetwork(sandbox);
  if (env[egressVariable] === "none") return { isSupported: false, reason: `${egressVariable}=none` };
  if (command === undefined) return { isSupported: false, reason: "this user cannot create network namespaces" };
  const reasons: string[] = [];
  for (const kind of ["pasta", "slirp4netns"] as const) {
    const found = findProgram(kind, env);
    const problem = "reason" in found ? found.reason : await tryEgress({ kind, path: found.path }, command);
    if (problem === undefined && "path" in found) return { isSupported: true, kind, path: found.path };
    reasons.push(problem ?? "");
  }
  return { isSupported: false, reason: reasons.join("; ") };
}

/** A command in a private network that waits for the end of its input. */
function idleNetwork(sandbox: SandboxSupport): readonly string[] | undefined {
  const idle = ["/bin/sh", "-c", "read -r line"];
  if (sandbox.isSupported) return [sandbox.program, ...privateNetworkArguments(idle)];
  return sandbox.network && inNetwork(sandbox.network, "read -r line", []);
}

async function tryEgress(egress: Egress, [command = "", ...args]: readonly string[]): Promise<string | undefined> {
  const child = spawn(command, args, {
    stdio: ["pipe", "ignore", "ignore"],
    env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
  });
  const exit = once(child, "exit").catch(() => {});
  try {
    const attached = await attachEgress(egress, child.pid ?? 0);
    attached.kill();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    child.kill("SIGKILL");
    await exit;
  }
}

/** Connects the private network below a process. Resolves when it has a route to other networks. */
export async function attachEgress(egress: Egress, pid: number): Promise<GuardedProcess> {
  const deadline = performance.now() + readyMs;
  for (;;) {
    const inside = await poll(deadline, () => networkedBelow(pid));
    if (inside === undefined) throw new Error("the private network did not start");
    const attached = startEgress(egress, inside);
    const isReady = await poll(deadline, () => attached.ended !== undefined || (hasRouteBelow(pid) ? true : undefined));
    if (isReady === true && attached.ended === undefined) return attached.process;
    attached.process.kill();
    // It may be one that raised the loopback device, and has ended: another process is in the network, too.
    const isLate = performance.now() > deadline || networkOf(inside) !== undefined;
    if (isLate) throw new Error(`${egress.kind} does not work here: ${attached.lastLine || attached.ended || noRoute}`);
  }
}

const noRoute = "the network has no route";

interface AttachedEgress {
  readonly process: GuardedProcess;
  /** How it ended; undefined while it runs. */
  readonly ended: string | undefined;
  /** Of its output. */
  readonly lastLine: string | undefined;
}

function startEgress(egress: Egress, inside: number): AttachedEgress {
  const [command = "", ...args] = egressCommand(egress, inside);
  const started = spawnGuarded(
    { command, args, cwd: "/", env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" } },
    { channel: false },
  );
  let said = "";
  for (const stream of [started.child.stdout, started.child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-1000);
    });
  }
  let ended: string | undefined;
  void started.ended.then((how) => {
    ended = how;
  });
  return {
    process: started,
    get ended() {
      return ended;
    },
    get lastLine() {
      const lines = said.trim().split("\n");
      return lines.findLast((line) => !line.includes("syslog"));
    },
  };
}

async function poll<T>(deadline: number, look: () => T | undefined): Promise<T | undefined> {
  for (;;) {
    const found = look();
    if (found !== undefined || performance.now() > deadline) return found;
    await delay(pollMs);
  }
}

function egressCommand({ kind, path }: Egress, pid: number): readonly string[] {
  const [network, user] = [`/proc/${pid}/ns/net`, `/proc/${pid}/ns/user`];
  if (kind === "slirp4netns") {
    const isolation = ["--disable-host-loopback", "--mtu=65520", `--userns-path=${user}`, "--netns-type=path"];
    return [path, "--configure", ...isolation, network, "tap0"];
  }
  // It would change to another user, who cannot enter the namespace.
  const asRoot = process.getuid?.() === 0 ? ["--runas", "0"] : [];
  const ports = ["-t", "none", "-u", "none", "-T", "none", "-U", "none"];
  const names = isNameServerLocal() ? ["--dns-forward", forwardedNameServer] : [];
  return [
    path,
    "-f",
    "-q",
    ...asRoot,
    "--config-net",
    "--no-map-gw",
    ...ports,
    ...names,
    "--userns",
    user,
    "--netns",
    network,
  ];
}

/** The first process below another one that has a network of its own. */
function networkedBelow(pid: number): number | undefined {
  const own = networkOf("self");
  // The last one is deepest: what made the network may still be on its way into it.
  return [pid, ...processesBelow(pid)].findLast((one) => {
    const network = networkOf(one);
    return network !== undefined && network !== own;
  });
}

function networkOf(pid: number | "self"): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/net`);
  } catch {
    return undefined;
  }
}

function hasRouteBelow(pid: number): boolean {
  const inside = networkedBelow(pid);
  return inside !== undefined && hasRoute(inside);
}

function hasRoute(pid: number): boolean {
  const rows = (file: string): string[][] =>
    readProc(pid, file)
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
  const v4 = rows("net/route").some(([, destination, gateway]) => destination === "00000000" && gateway !== "00000000");
  return (
    v4 ||
    rows("net/ipv6_route").some(
      ([to, length, , , gateway = ""]) => /^0+$/.test(`${to}${length}`) && /[1-9a-f]/.test(gateway),
    )
  );
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}

/** The text of `/etc/resolv.conf` for a program in a network, where `egress` is what connects it; the machine's own without one. */
export function nameServersFor(egress: Pick<Egress, "kind"> | undefined): string {
  const own = machineNameServers();
  const isForwarded = egress !== undefined && (egress.kind === "slirp4netns" || isNameServerLocal());
  if (!isForwarded) return own;
  const others = own.split("\n").filter((line) => !line.startsWith("nameserver"));
  return [`nameserver ${forwardedNameServer}`, ...others].join("\n");
}

function isNameServerLocal(): boolean {
  const servers = machineNameServers().match(/^nameserver\s+\S+/gm) ?? [];
  return servers.every((line) => /\s(127\.|::1$)/.test(line));
}

function machineNameServers(): string {
  try {
    return readFileSync("/etc/resolv.conf", "utf8");
  } catch {
    return "";
  }
}
