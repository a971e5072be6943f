// SPDX-License-Identifier: Apache-2.0

import { mkdir, rm } from "node:fs/promises";
import { dirname } from "node:path";
import type { ProcessConfig } from "@purlin/oci";
import { linkedFiles } from "../elf/linked-files.ts";
import { limitedCommand } from "../limits/limit-script.ts";
import { openDoor } from "../sandbox/network-door.ts";
import { privateNetworkOf } from "../sandbox/private-network.ts";
import { type CellCommand, type Sandbox, sandboxCommand } from "../sandbox/sandbox-arguments.ts";
import type { UnsharedNetwork } from "../sandbox/unshared-network.ts";
import type { GuardedProcess } from "./guarded-process.ts";
import { commandOf, defaultPath, parseEnv } from "./image-process.ts";
import type { CellMaker, NetworkCell } from "./network-cell.ts";
import type { Supervision } from "./supervision.ts";

/** A path for a socket that nobody else uses. */
interface TakenSocket {
  readonly path: string;
  /** Gives it back. */
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
  /** It brings no Node of its own and runs on ours. */
  readonly needsNode: boolean;
  /** What makes its sandbox; without it the function runs as any other program of this machine. */
  readonly sandbox: Sandbox | undefined;
  /** What gives it a network of its own without a sandbox; without it the function shares the machine's. */
  readonly network?: UnsharedNetwork | undefined;
  /** Where the socket of a sandboxed function is, or beside it while one that is replaced still serves there. */
  readonly socket: string;
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

const certificatesInside = "/tls/server";

const nodeInside = "/purlin/node/node";

/** Our Node, its loader and the libraries that it is linked with, by where a function without a base finds them. */
const ownNode = once(() => ({ ...linkedFiles(process.execPath), [nodeInside]: process.execPath }));

/** Looked for at the first use: files are read for it. */
function once<T>(make: () => T): () => T {
  let made: T | undefined;
  return () => (made ??= make());
}

/** An image that runs in a sandbox. */
type SandboxedImage = ImageProgram & { readonly sandbox: Sandbox };

/** What a sandboxed function is started with. */
interface SandboxedOptions {
  /** The folder with the certificates it is served with. */
  readonly certificates: string;
  /** A private network for it. */
  readonly cell: (maker: CellMaker) => NetworkCell;
  readonly supervision: Pick<Supervision, "limits">;
}

/** Prepares the process of an image in a sandbox: a network of its own, joined with a socket only we can open. */
export async function prepareSandboxed(
  { root, process: config, env, needsNode, sandbox, socket: wanted }: SandboxedImage,
  { certificates, cell: openCell, supervision: { limits } }: SandboxedOptions,
): Promise<PreparedProgram> {
  // Whatever may be wrong with the image shows before anything is taken: such an image is tried again and again.
  const sandboxed = sandboxCommand(sandbox, {
    root,
    command: needsNode ? [nodeInside, ...commandOf(config).slice(1)] : commandOf(config),
    cwd: config.workingDir,
    env: { PATH: defaultPath, HOME: "/tmp", ...parseEnv(config.env), ...env, TLS_SERVER_CERTS_DIR: certificatesInside },
    tmpBytes: limits.tmpBytes,
    folders: { [certificatesInside]: certificates },
    files: needsNode ? ownNode() : undefined,
  });
  // In the user namespace of the cell, so that only processes of this function count.
  const words = limitedCommand(sandboxed.words, { limits, countProcesses: true, limitFiles: true });
  const command = { ...sandboxed, words };
  const door = await openFunctionDoor(wanted);
  return {
    address: door.address,
    start: () => door.start(openCell(sandbox), command),
    dispose: door.dispose,
  };
}

/** The address of a function that has a network of its own. */
interface FunctionDoor {
  /** `unix:path`. */
  readonly address: string;
  /** Starts a command in a cell, whose network the address leads to from then on. */
  start(cell: NetworkCell, command: CellCommand): GuardedProcess;
  /** Nobody comes in any more. */
  dispose(): Promise<void>;
}

/** Opens the door of a function at the wanted socket, or beside it while another process serves there. */
export async function openFunctionDoor(wanted: string): Promise<FunctionDoor> {
  const { path: socket, dispose } = await takeSocket(wanted);
  const door = await openDoor(socket).catch(async (error: unknown) => {
    await dispose();
    throw error;
  });
  return {
    address: `unix:${socket}`,
    start(cell, command) {
      door.lead(privateNetworkOf(cell.process.child));
      cell.start(command);
      return cell.process;
    },
    async dispose() {
      door.close();
      await dispose();
    },
  };
}

/**
 * Takes the socket of a function: the one it had last, so that whoever calls while it is started again waits there; another
 * one while that is in use, as a process that is replaced serves until the new one does.
 */
export async function takeSocket(wanted: string): Promise<TakenSocket> {
  const path = freePath(wanted);
  taken.add(path);
  last.set(wanted, path);
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    // What a process that was killed left behind would be in the way.
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
