// SPDX-License-Identifier: Apache-2.0

import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { ProcessConfig } from "@purlin/oci";
import { linkedFiles } from "../elf/linked-files.ts";
import { limitedCommand } from "../limits/limit-script.ts";
import { openProxySocket, privateNetworkOf, type UnsharedNetwork } from "../sandbox/private-network.ts";
import { type NetworkCommand, type Sandbox, sandboxCommand } from "../sandbox/sandbox-arguments.ts";
import type { GuardedProcess } from "../spawn/guarded-process.ts";
import type { Supervision } from "../spawn/supervision.ts";
import { commandOf, defaultPath, parseEnv } from "./image-command.ts";
import type { ProviderWiring } from "./prepare-provider.ts";
import type { NetworkMaker, SandboxNetwork } from "./sandbox-network.ts";

/** The path of a socket, reserved for one process. */
interface TakenSocket {
  readonly path: string;
  /** Releases the path. */
  readonly dispose: () => Promise<void>;
}

const taken = new Set<string>();

/** Where each function listened last. */
const last = new Map<string, string>();

/** A function that runs from an unpacked image. */
export interface ImageProgram {
  readonly kind: "image";
  readonly root: string;
  readonly process: ProcessConfig;
  /** What the control plane adds to the image's environment. */
  readonly env: Readonly<Record<string, string>>;
  /** The image contains no Node; the function runs on this process's Node. */
  readonly needsNode: boolean;
  /** Without it the function runs as a plain child process. */
  readonly sandbox: Sandbox | undefined;
  /** Gives it a private network without a sandbox; without it the function shares the machine's network. */
  readonly network?: UnsharedNetwork | undefined;
  /** The socket of a sandboxed function; a path beside it is used while a replaced process still serves there. */
  readonly socket: string;
  /** What a Provider has beyond a function; undefined for a function. */
  readonly provider?: ProviderWiring | undefined;
}

/** A program ready to be started, and where it will listen. */
export interface PreparedProgram {
  /** `host:port` or `unix:path`. */
  readonly address: string;
  readonly start: () => GuardedProcess;
  /** Its temporary folder, where that is on disk. */
  readonly tmp?: string | undefined;
  /** Cleans up after it has ended. */
  readonly dispose: () => Promise<void>;
}

/** Where a program in a sandbox finds the certificates it serves with. */
export const certificatesInside = "/tls/server";

const nodeInside = "/purlin/node/node";

/** This process's Node, its loader and its shared libraries, by their path in the sandbox of a function without a base image. */
export const ownNode: () => Readonly<Record<string, string>> = once(() => ({
  ...linkedFiles(process.execPath),
  [nodeInside]: process.execPath,
}));

/** Computed at first use, because it reads files. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** An image that runs in a sandbox. */
type SandboxedImage = ImageProgram & { readonly sandbox: Sandbox };

/** What a sandboxed function needs to start. */
interface SandboxedOptions {
  /** The folder with the certificates it is served with. */
  readonly certificates: string;
  /** Opens its private network. */
  readonly openNetwork: (maker: NetworkMaker) => SandboxNetwork;
  readonly supervision: Pick<Supervision, "limits">;
}

/** Prepares the process of an image in a sandbox with a private network, reachable through a socket that only this user can open. */
export async function prepareSandboxed(
  { root, process: config, env, needsNode, sandbox, socket: wanted }: SandboxedImage,
  { certificates, openNetwork, supervision: { limits } }: SandboxedOptions,
): Promise<PreparedProgram> {
  // Fails before anything is reserved when the image is invalid: such an image is retried again and again.
  const sandboxed = sandboxCommand(sandbox, {
    root,
    command: sandboxedWords(config, needsNode),
    cwd: config.workingDir,
    env: { PATH: defaultPath, HOME: "/tmp", ...parseEnv(config.env), ...env, TLS_SERVER_CERTS_DIR: certificatesInside },
    tmpBytes: limits.tmpBytes,
    folders: { [certificatesInside]: certificates },
    files: needsNode ? ownNode() : undefined,
  });
  // In the user namespace of the sandbox network, so that only processes of this function count.
  const words = limitedCommand(sandboxed.words, { limits, countProcesses: true, limitFiles: true });
  const command = { ...sandboxed, words };
  const socket = await openFunctionSocket(wanted);
  return {
    address: socket.address,
    start: () => socket.start(openNetwork(sandbox), command),
    dispose: socket.dispose,
  };
}

/** The words that start the process of an image in a sandbox. */
export function sandboxedWords(config: ProcessConfig, needsNode: boolean): readonly string[] {
  const words = commandOf(config);
  return needsNode ? [nodeInside, ...words.slice(1)] : words;
}

/** The address of a function that has a network of its own. */
interface FunctionSocket {
  /** `unix:path`. */
  readonly address: string;
  /** Starts a command in a sandbox network and attaches the address to it. */
  start(network: SandboxNetwork, command: NetworkCommand): GuardedProcess;
  /** Closes the socket. */
  dispose(): Promise<void>;
}

/** Opens the socket of a function at the wanted path, or beside it while another process serves there. */
export async function openFunctionSocket(wanted: string): Promise<FunctionSocket> {
  const { path: socket, dispose } = await takeSocket(wanted);
  const proxy = await openProxySocket(socket).catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    address: `unix:${socket}`,
    start(network, command) {
      proxy.attach(privateNetworkOf(network.process.child));
      network.start(command);
      return network.process;
    },
    async dispose() {
      proxy.close();
      await dispose();
    },
  };
}

/**
 * Reserves a socket path for a function: its last one, so that clients that call during a restart keep waiting at the right path, or another
 * one while that is in use, because a replaced process serves until its successor does.
 */
export async function takeSocket(wanted: string): Promise<TakenSocket> {
  const path = freePath(wanted);
  taken.add(path);
  last.set(wanted, path);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // A killed process may have left its socket file behind.
    await rm(path, { force: true });
  } catch (error) {
    giveBack(wanted, path);
    throw error;
  }
  return {
    path,
    async dispose() {
      await rm(path, { force: true });
      giveBack(wanted, path);
    },
  };
}

function giveBack(wanted: string, path: string): void {
  taken.delete(path);
  if (last.get(wanted) === wanted) last.delete(wanted);
}

function freePath(wanted: string): string {
  const known = last.get(wanted) ?? wanted;
  if (!taken.has(known)) return known;
  for (let number = 0; ; number++) {
    const path = number === 0 ? wanted : `${wanted}.${number}`;
    if (!taken.has(path)) return path;
  }
}
