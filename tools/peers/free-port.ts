// SPDX-License-Identifier: Apache-2.0
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Below the ports that Linux (32768) and macOS (49152) give to port 0 and to outgoing connections. */
const lowest = 15_000;
const highest = 32_000;

/**
 * A free port of the loopback interface, for a program that does not report which port it got for port 0. The system itself assigns no port of this
 * range, so the port stays free until the program listens on it, and while the program is restarted.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(lowest, highest);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch {
    return false;
  }
  server.close();
  await once(server, "close");
  return true;
}
