// SPDX-License-Identifier: Apache-2.0
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Registry, startRegistry } from "@purlin/package-manager";

/**
 * Starts the registry of a folder at the address it had before: packages are known by it. Where somebody else has taken the port, it
 * moves, and says so.
 */
export async function startKeptRegistry(directory: string, warn: (text: string) => void): Promise<Registry> {
  const file = join(directory, "port");
  const port = Number(await readFile(file, "utf8").catch(() => "0"));
  const registry = await startRegistry({ directory, port }).catch((error: NodeJS.ErrnoException) => {
    if (port === 0 || error.code !== "EADDRINUSE") throw error;
    return startRegistry({ directory });
  });
  const used = registry.address.split(":").at(-1) ?? "";
  if (port !== 0 && used !== String(port)) {
    warn(
      `port ${port} is taken: the registry is now at ${registry.address}; packages named by the old address must be changed`,
    );
  }
  if (used !== String(port)) await writeFile(file, used, { mode: 0o600 });
  return registry;
}
