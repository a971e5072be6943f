// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";

const lowest = 20_000;
/** The first port that Linux gives to outgoing connections, unless it is set otherwise. */
const defaultFirst = 32_768;
const tries = 20;

/**
 * A free port for a server that is to have it at each start; 0 where there is none. It is below those that the system gives to outgoing
 * connections: one of those may belong to another program whenever the server is restarted.
 */
export async function keepablePort(range: Promise<string> = localPortRange()): Promise<number> {
  const first = Number.parseInt(await range, 10) || defaultFirst;
  if (first - lowest < tries) return 0;
  for (let left = tries; left > 0; left--) {
    const port = randomInt(lowest, first);
    if (await isFree(port)) return port;
  }
  return 0;
}

function localPortRange(): Promise<string> {
  return readFile("/proc/sys/net/ipv4/ip_local_port_range", "utf8").catch(() => "");
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
      .once("error", () => resolve(false))
      .listen({ port, host: "127.0.0.1" }, () => server.close(() => resolve(true)));
  });
}

/** Listens on the given port, or with 0 on one that can be kept. */
export async function listenKeepably<T>(port: number, listen: (port: number) => Promise<T>): Promise<T> {
  const chosen = port === 0 ? await keepablePort() : port;
  try {
    return await listen(chosen);
  } catch (error) {
    // Another program was faster.
    if (port !== 0 || (error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    return listen(0);
  }
}
