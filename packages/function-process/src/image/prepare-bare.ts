// SPDX-License-Identifier: Apache-2.0
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { limitedCommand, namespacedCommand } from "../limits/limit-script.ts";
import { asOwnUser, type UnsharedNetwork } from "../sandbox/private-network.ts";
import type { NetworkCommand } from "../sandbox/sandbox-arguments.ts";
import { type GuardedProcess, type Program, spawnGuarded } from "../spawn/guarded-process.ts";
import type { Supervision } from "../spawn/supervision.ts";
import { commandOf, defaultPath, imageCommand, locate, type Mounts, parseEnv, translate } from "./image-command.ts";
import { type ImageProgram, openFunctionSocket, type PreparedProgram } from "./prepare-sandboxed.ts";
import { defaultPort, type NetworkMaker, type SandboxNetwork } from "./sandbox-network.ts";

/** Where a function without a sandbox listens, and its certificates. */
interface BareOptions {
  readonly certificates: string;
  readonly port: number;
  /** The environment variables of this machine that functions may see. */
  readonly machineEnv: Readonly<Record<string, string>>;
  /** The flag that takes the certificate folder: one of {@link certificateFlags}. A Provider gets no flags. */
  readonly certificateFlag: string | undefined;
  /** Further folders of this machine, by where the image finds them. */
  readonly mounts?: Mounts | undefined;
  /** Where the image finds folders that start empty. */
  readonly scratch?: readonly string[] | undefined;
  readonly supervision: Supervision;
  /** Starts the program; by default as a plain child process. */
  readonly run?: ((program: Program) => GuardedProcess) | undefined;
}

/** Most SDKs accept the first flag. The public TypeScript SDK accepts only the second and rejects unknown flags. */
export const certificateFlags: readonly [string, string] = ["--tls-certs-dir", "--tls-server-certs-dir"];

/** Metrics on a free loopback port. Set in the environment, because some functions reject flags they do not know. */
export const ownPorts = { METRICS_ADDRESS: "127.0.0.1:0" } as const;

/**
 * Prepares the process of an image without a sandbox. The process sees this machine's files, finds the files of its image at their unpacked
 * paths, and listens on the given port.
 */
export async function prepareBare(program: ImageProgram, options: BareOptions): Promise<PreparedProgram> {
  const { root, process: config, needsNode } = program;
  const { certificates, port, machineEnv, certificateFlag, supervision } = options;
  const { run = (bare) => spawnGuarded(bare, { channel: false, enclosure: supervision.containment.enclose() }) } =
    options;
  const address = `127.0.0.1:${port}`;
  const imageEnv = { PATH: defaultPath, ...parseEnv(config.env), ...program.env };
  // Fails before it has a folder when the image is invalid: such an image is retried again and again.
  const [name = "", ...words] = commandOf(config);
  const [command = "", ...first] = needsNode ? [process.execPath] : await imageCommand(root, name, imageEnv.PATH);
  const tmp = await makeTmp(supervision.tmpFolder);
  const mounts: Mounts = {
    "/tls/server": certificates,
    ...options.mounts,
    ...(await makeScratch(tmp, options.scratch ?? [])),
  };
  const args = await Promise.all(words.map((word) => translate(word, root, mounts)));
  const flags = certificateFlag === undefined ? [] : [`--address=${address}`, `${certificateFlag}=${certificates}`];
  const variables = Object.entries(imageEnv).map(async ([key, value]) => [key, await translate(value, root, mounts)]);
  const env: Record<string, string> = Object.fromEntries(await Promise.all(variables));
  const path = [env["PATH"], machineEnv["PATH"]].filter(Boolean).join(":");
  const [outer = "", ...outerWords] = limited([command, ...first, ...args, ...flags], supervision);
  const bare: Program = {
    command: outer,
    args: outerWords,
    cwd: (await locate(root, config.workingDir)) ?? join(root, "/"),
    env: { ...machineEnv, ...env, ...ownPorts, PATH: path, TMPDIR: tmp, TLS_SERVER_CERTS_DIR: certificates },
  };
  return {
    address,
    tmp,
    start: () => run(bare),
    dispose: () => rm(tmp, { recursive: true, force: true }),
  };
}

/** A temporary folder for one process, so that its size can be measured and its files removed with the process. */
async function makeTmp(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return await mkdtemp(join(folder, "function-"));
}

async function makeScratch(tmp: string, places: readonly string[]): Promise<Mounts> {
  const made = places.map(async (place) => [place, await mkdtemp(join(tmp, "volume-"))] as const);
  return Object.fromEntries(await Promise.all(made));
}

/** Runs in a PID namespace where they are available, so that all descendants end with the program. */
function limited(command: readonly string[], { limits, containment }: Supervision): readonly string[] {
  const { namespace } = containment;
  const options = { limits, countProcesses: namespace?.ownUser === true, limitFiles: true };
  return namespace === undefined ? limitedCommand(command, options) : namespacedCommand(command, namespace, options);
}

/** An image that runs without a sandbox, but in a network of its own. */
type NetworkedImage = ImageProgram & { readonly network: UnsharedNetwork };

/**
 * Prepares the process of an image that sees this machine's files but has its own network, so that ports it opens never conflict, including
 * ports that cannot be configured.
 */
export async function prepareNetworked(
  program: NetworkedImage,
  options: Omit<BareOptions, "port" | "run">,
  openNetwork: (maker: NetworkMaker) => SandboxNetwork,
): Promise<PreparedProgram> {
  const socket = await openFunctionSocket(program.socket);
  const run: BareOptions["run"] = (bare) =>
    socket.start(openNetwork(program.network), networkedCommand(program.network, bare));
  const port = Number(defaultPort);
  const prepared = await prepareBare(program, { ...options, port, run }).catch(async (error: unknown) => {
    await socket.dispose();
    throw error;
  });
  return {
    ...prepared,
    address: socket.address,
    async dispose() {
      await socket.dispose();
      await prepared.dispose();
    },
  };
}

/** Changes to the folder of a program and runs it with only its own environment. */
const enter = 'cd "$1" && shift && exec env -i "$@"';

/** The command that runs a program in a network of its own as the user who started the control plane. */
export function networkedCommand(network: UnsharedNetwork, { command, args, cwd, env }: Program): NetworkCommand {
  const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const words = ["/bin/sh", "-c", enter, "purlin-enter", cwd, ...variables, command, ...args];
  return { words: asOwnUser(network, words), inputs: [] };
}
