// SPDX-License-Identifier: Apache-2.0
import { lstat, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { makeMountPoint, pathInside } from "@purlin/oci";
import { limitedCommand } from "../limits/limit-script.ts";
import { processesBelow, readProc } from "../limits/marked-processes.ts";
import { attachEgress, type Egress, nameServersFor } from "../sandbox/egress.ts";
import { forwardInward, type UnsharedNetwork } from "../sandbox/private-network.ts";
import { type NetworkCommand, type Sandbox, sandboxCommand } from "../sandbox/sandbox-arguments.ts";
import type { GuardedProcess } from "../spawn/guarded-process.ts";
import type { Supervision } from "../spawn/supervision.ts";
import { defaultPath, parseEnv } from "./image-command.ts";
import { networkedCommand, prepareBare } from "./prepare-bare.ts";
import {
  certificatesInside,
  type ImageProgram,
  openFunctionSocket,
  ownNode,
  type PreparedProgram,
  sandboxedWords,
} from "./prepare-sandboxed.ts";
import type { NetworkMaker, NetworkShape, SandboxNetwork } from "./sandbox-network.ts";

/** What a Provider has beyond a function: an API server to reach, volumes, and a network that reaches others. */
export interface ProviderWiring {
  /** Folders of this machine, by where the program finds them; read only. */
  readonly folders: Readonly<Record<string, string>>;
  /** Folders that start empty and that the program may write. */
  readonly scratch: readonly string[];
  /** Where this process reaches the API server. In a private network the Provider finds it at {@link providerApiPort} of loopback. */
  readonly api: { readonly host: string; readonly port: number };
  /** Connects its private network; without it the Provider shares the network of this machine. */
  readonly egress: Egress | undefined;
}

/** The port of the API server in a private network. */
export const providerApiPort = 6443;

/** Where clients that know only `kubernetes.default.svc` look for it. */
const clusterApiPort = 443;

/** Where webhooks listen. */
const webhookPort = 9443;

type Provider = ImageProgram & { readonly provider: ProviderWiring };

/** What a Provider needs to start. */
interface ProviderOptions {
  readonly certificates: string;
  readonly openShaped: (maker: NetworkMaker, shape: NetworkShape) => SandboxNetwork;
  readonly machineEnv: Readonly<Record<string, string>>;
  readonly supervision: Supervision;
  /** Gets what went wrong while the network was connected. */
  readonly onProblem: (text: string) => void;
}

/** Prepares the process of a Provider: in a sandbox where there is one, in a private network where one can be connected. */
export async function prepareProvider(program: Provider, options: ProviderOptions): Promise<PreparedProgram> {
  const { sandbox, network, provider } = program;
  if (sandbox !== undefined) return prepareInSandbox({ ...program, sandbox }, options);
  if (network !== undefined && provider.egress !== undefined) return prepareInNetwork({ ...program, network }, options);
  return { ...(await prepareBare(program, bareOptions(program, options))), address: `127.0.0.1:${webhookPort}` };
}

async function prepareInSandbox(
  program: Provider & { readonly sandbox: Sandbox },
  options: ProviderOptions,
): Promise<PreparedProgram> {
  const { root, process: config, env, needsNode, sandbox, provider, socket: wanted } = program;
  const { certificates, supervision } = options;
  const { limits } = supervision;
  const names = await writeNames(supervision.tmpFolder, provider.egress);
  await makePlaces(root, provider);
  for (const file of Object.keys(nameFiles)) await makeFile(root, file);
  const sandboxed = sandboxCommand(sandbox, {
    root,
    command: sandboxedWords(config, needsNode),
    cwd: config.workingDir,
    env: { PATH: defaultPath, HOME: "/tmp", ...parseEnv(config.env), ...env },
    tmpBytes: limits.tmpBytes,
    folders: {
      [certificatesInside]: certificates,
      ...provider.folders,
      ...filesIn(names),
    },
    scratch: provider.scratch,
    files: needsNode ? ownNode() : undefined,
  });
  const words = limitedCommand(sandboxed.words, { limits, countProcesses: true, limitFiles: true });
  const command = { ...sandboxed, words };
  const socket = await openFunctionSocket(wanted);
  return {
    address: socket.address,
    start: () => startWired({ socket, command, maker: sandbox, provider }, options),
    async dispose() {
      await socket.dispose();
      await rm(names, { recursive: true, force: true });
    },
  };
}

async function prepareInNetwork(
  program: Provider & { readonly network: UnsharedNetwork },
  options: ProviderOptions,
): Promise<PreparedProgram> {
  const { network, provider } = program;
  const socket = await openFunctionSocket(program.socket);
  const run = (bare: Parameters<typeof networkedCommand>[1]): GuardedProcess =>
    startWired({ socket, command: networkedCommand(network, bare), maker: network, provider }, options);
  const prepared = await prepareBare(program, { ...bareOptions(program, options), run }).catch(
    async (error: unknown) => {
      await socket.dispose();
      throw error;
    },
  );
  return {
    ...prepared,
    address: socket.address,
    async dispose() {
      await socket.dispose();
      await prepared.dispose();
    },
  };
}

function bareOptions({ provider }: Provider, { certificates, machineEnv, supervision }: ProviderOptions) {
  const { folders, scratch } = provider;
  return {
    certificates,
    machineEnv,
    supervision,
    mounts: folders,
    scratch,
    port: webhookPort,
    certificateFlag: undefined,
  };
}

interface Wired {
  readonly socket: Awaited<ReturnType<typeof openFunctionSocket>>;
  readonly command: NetworkCommand;
  readonly maker: NetworkMaker;
  readonly provider: ProviderWiring;
}

/** Starts a Provider once its network is connected: a client that finds no API server at its start may give up. */
function startWired({ socket, command, maker, provider }: Wired, options: ProviderOptions): GuardedProcess {
  const { egress, api } = provider;
  const isShared = egress === undefined;
  const network = options.openShaped(maker, isShared ? { isShared } : { inward: [providerApiPort, clusterApiPort] });
  const guarded = network.process;
  if (egress === undefined) socket.start(network, command);
  else {
    const attached = connectNetwork(guarded, egress, api);
    attached.then(
      () => socket.start(network, command),
      (error: unknown) => {
        options.onProblem(error instanceof Error ? error.message : String(error));
        guarded.kill();
      },
    );
    void guarded.ended.then(async () => (await attached.catch(() => undefined))?.kill());
  }
  return { ...guarded, stop: (graceMs) => stopGently(guarded, graceMs) };
}

async function connectNetwork(
  { child }: GuardedProcess,
  egress: Egress,
  api: ProviderWiring["api"],
): Promise<GuardedProcess> {
  const [attached] = await Promise.all([attachEgress(egress, child.pid ?? 0), forwardInward(child, api)]);
  return attached;
}

/** Asks the program to end, so that it releases its leases, and ends everything after the grace period. */
async function stopGently(guarded: GuardedProcess, graceMs: number): Promise<void> {
  const { child, ended } = guarded;
  for (const pid of programsBelow(child.pid ?? 0)) signal(pid);
  const limit = Promise.withResolvers<void>();
  const timer = setTimeout(limit.resolve, graceMs);
  await Promise.race([ended, limit.promise]);
  clearTimeout(timer);
  await guarded.stop(0);
}

/** The programs in the innermost PID namespaces below a process: bubblewrap is the first process of one, the program the second. */
function programsBelow(pid: number): readonly number[] {
  const inner = processesBelow(pid).map((one) => ({ one, pids: namespacePids(one) }));
  const depth = Math.max(0, ...inner.map(({ pids }) => pids.length));
  return inner.filter(({ pids }) => pids.length === depth && pids.at(-1) !== 1).map(({ one }) => one);
}

function namespacePids(pid: number): readonly number[] {
  const line = /^NSpid:\s+(.+)$/m.exec(readProc(pid, "status") ?? "")?.[1] ?? "";
  return line.split(/\s+/).filter(Boolean).map(Number);
}

function signal(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended.
  }
}

/** Creates the mount points of a Provider in its unpacked image. */
async function makePlaces(root: string, { folders, scratch }: ProviderWiring): Promise<void> {
  for (const place of [...Object.keys(folders), ...scratch]) await makeMountPoint(root, place);
}

/** Creates an empty file in an unpacked image, to mount over. */
async function makeFile(root: string, path: string): Promise<void> {
  await makeMountPoint(root, dirname(path));
  const file = await pathInside(root, path);
  const found = await lstat(file).catch(() => undefined);
  if (found?.isFile()) return;
  if (found !== undefined) await rm(file, { force: true, recursive: true });
  // Another process may start in the same root at the same time: its file must stay.
  await writeFile(file, "", { flag: "a" });
}

/** The folder of the name servers of one process. */
async function writeNames(tmpFolder: string, egress: Egress | undefined): Promise<string> {
  await mkdir(tmpFolder, { recursive: true, mode: 0o700 });
  const folder = await mkdtemp(join(tmpFolder, "names-"));
  for (const [path, textFor] of Object.entries(nameFiles))
    await writeFile(join(folder, basename(path)), textFor(egress));
  return folder;
}

/** The API server is known by the names that it has in a cluster, where a private network forwards to it. */
const clusterNames = "kubernetes kubernetes.default kubernetes.default.svc kubernetes.default.svc.cluster.local";

/** The files by which names are resolved. */
const nameFiles: Readonly<Record<string, (egress: Egress | undefined) => string>> = {
  "/etc/resolv.conf": nameServersFor,
  "/etc/hosts": (egress) => `127.0.0.1 localhost provider ${egress === undefined ? "" : clusterNames}\n::1 localhost\n`,
};

function filesIn(folder: string): Record<string, string> {
  return Object.fromEntries(Object.keys(nameFiles).map((path) => [path, join(folder, basename(path))]));
}
