// SPDX-License-Identifier: Apache-2.0
import { randomBytes } from "node:crypto";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { OwnRegistry } from "@purlin/control-plane";
import { type Registry, registryUser, startRegistry } from "@purlin/oci";
import { makeFolder, replaceFile } from "../files/write-files.ts";
import { listenKeepably } from "../project/keepable-port.ts";
import { dockerConfigPath } from "../project/project-file.ts";
import { UserError } from "../user-error.ts";

/** Where the registry is kept, and where it is to listen. */
interface KeptRegistryOptions {
  /** The data directory. */
  readonly directory: string;
  /** The port to listen on, 0 for any free one; that of the last start unless given. */
  readonly port?: number | undefined;
  readonly warn: (text: string) => void;
}

/** The registry of a data directory, and how the control plane reads from it. */
export interface KeptRegistry extends Registry {
  readonly access: OwnRegistry;
}

/** The newest addresses count; more than these are not remembered. */
const maxFormer = 64;

/**
 * Starts the registry of a data directory at the address it had before: packages are known by it. A port that another program listens on
 * is an error, as that program would be asked for packages. The token is a new one for each start, so one that was sent to another
 * program while the registry did not run is worthless.
 */
export async function startKeptRegistry({ directory, port, warn }: KeptRegistryOptions): Promise<KeptRegistry> {
  const folder = join(directory, "registry");
  const [before = 0] = await readPorts(join(folder, "port"));
  const token = randomBytes(32).toString("base64url");
  const registry = await listenKeepably(port ?? before, (chosen) =>
    startRegistry({ directory: folder, token, port: chosen }),
  ).catch((error: unknown) => {
    throw portError(error, { port, before });
  });
  try {
    const used = Number(registry.address.split(":").at(-1));
    const former = await notePorts(folder, before, used);
    if (before !== 0 && used !== before) {
      warn(`the registry is now at ${registry.address}; packages named by the old address must be changed`);
    }
    const config = dockerConfigPath(directory);
    await makeFolder(join(config, ".."), 0o700);
    await replaceFile(config, dockerConfig(registry.address, token));
    const access = { credentials: credentialsOf(registry.address, token), refuses: refusal(registry.address, former) };
    const close = async (): Promise<void> => {
      await registry.close();
      await rm(config, { force: true });
    };
    return { ...registry, access, close };
  } catch (error) {
    await registry.close();
    throw error;
  }
}

async function readPorts(file: string): Promise<number[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split(/\s+/).map(Number).filter(isPort);
}

const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port <= 65535;

/** Notes where the registry is now, and answers with the ports where it was before. */
async function notePorts(folder: string, before: number, used: number): Promise<readonly number[]> {
  if (used === before) return readPorts(join(folder, "former-ports"));
  const known = await readPorts(join(folder, "former-ports"));
  const former = [...new Set([before, ...known])].filter((port) => isPort(port) && port !== used).slice(0, maxFormer);
  // The sources that may no longer be used come first, so that a crash in between loses none.
  if (former.length > 0) await replaceFile(join(folder, "former-ports"), `${former.join("\n")}\n`);
  await replaceFile(join(folder, "port"), `${used}\n`);
  return former;
}

function credentialsOf(address: string, token: string): OwnRegistry["credentials"] {
  return (source) => (source.startsWith(`${address}/`) ? { username: registryUser, password: token } : undefined);
}

/** Other ways to write a port of this machine. */
const otherNames = (port: number | string): string[] => [`localhost:${port}`, `[::1]:${port}`];

/** What listens where the registry was before is another program, and so may be what listens at its port of the other loopback address. */
function refusal(address: string, former: readonly number[]): OwnRegistry["refuses"] {
  const old = new Set(former.flatMap((port) => [`127.0.0.1:${port}`, ...otherNames(port)]));
  const others = new Set(otherNames(address.split(":").at(-1) ?? ""));
  return (written) => {
    const registry = written.toLowerCase();
    if (others.has(registry)) {
      return `the registry of this control plane is known as ${address}; packages are not pulled from ${registry}, which may belong to another program: change the package to ${address}`;
    }
    return old.has(registry)
      ? `the registry of this control plane moved from ${registry} to ${address}; packages are not pulled from the old address, which may belong to another program: change the package to ${address}, or restart with --registry-port ${registry.split(":").at(-1)}`
      : undefined;
  };
}

function dockerConfig(address: string, token: string): string {
  const auth = Buffer.from(`${registryUser}:${token}`).toString("base64");
  return `${JSON.stringify({ auths: { [address]: { auth } } }, undefined, 2)}\n`;
}

function portError(error: unknown, { port, before }: { port: number | undefined; before: number }): unknown {
  if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") return error;
  if (port !== undefined) {
    return new UserError(
      `--registry-port ${port} is in use by another program: choose another port with --registry-port`,
      {
        cause: error,
      },
    );
  }
  const advice = `stop that program, or choose another port with --registry-port (0 for any free port) and change the packages that refer to 127.0.0.1:${before}`;
  return new UserError(`port ${before}, which the registry used before, is in use by another program: ${advice}`, {
    cause: error,
  });
}
