// SPDX-License-Identifier: Apache-2.0
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Registry, startRegistry } from "@purlin/package-manager";
import { UserError } from "../user-error.ts";

/** Where the registry is kept, and where it is to listen. */
export interface KeptRegistryOptions {
  readonly directory: string;
  /** The user's wish; it must be met. */
  readonly port?: number | undefined;
  readonly warn: (text: string) => void;
}

/**
 * Starts the registry of a folder at the address it had before: packages are known by it. Where somebody else has taken the port, it
 * moves, and says so.
 */
export async function startKeptRegistry({ directory, port, warn }: KeptRegistryOptions): Promise<Registry> {
  const file = join(directory, "port");
  const before = Number(await readFile(file, "utf8").catch(() => "0"));
  const registry = await (port === undefined ? startWhereItWas(directory, before) : startThere(directory, port));
  const used = registry.address.split(":").at(-1) ?? "";
  if (before !== 0 && used !== String(before)) {
    const why = port === undefined ? `port ${before} is taken: the registry` : "the registry";
    warn(`${why} is now at ${registry.address}; packages named by the old address must be changed`);
  }
  if (used !== String(before)) await writeFile(file, used, { mode: 0o600 });
  return registry;
}

function startWhereItWas(directory: string, port: number): Promise<Registry> {
  return startRegistry({ directory, port }).catch((error: NodeJS.ErrnoException) => {
    if (port === 0 || error.code !== "EADDRINUSE") throw error;
    return startRegistry({ directory });
  });
}

function startThere(directory: string, port: number): Promise<Registry> {
  return startRegistry({ directory, port }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new UserError(`port ${port} is taken: choose another one with --registry-port`, { cause: error });
  });
}
