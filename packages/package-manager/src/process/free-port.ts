// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Ports that were handed out and not given back. */
export interface PortPool {
  /** A port of the loopback interface on which nobody listens: the one that is wanted, if it is such a one. */
  take(wanted?: number): Promise<number>;
  giveBack(port: number): void;
}

/**
 * Finds free ports. Between the look and the program's own start somebody else may take one; the program then ends and is
 * started again on another. No port is handed out twice meanwhile, so functions never get into each other's way.
 */
export function createPortPool(): PortPool {
  const taken = new Set<number>();
  return {
    async take(wanted = 0) {
      for (let wish = wanted; ; wish = 0) {
        const port = await findFreePort(wish);
        if (port === undefined || taken.has(port)) continue;
        taken.add(port);
        return port;
      }
    },
    giveBack: (port) => void taken.delete(port),
  };
}

/** The port that is asked for, if it is free; any free one for 0. */
async function findFreePort(wanted: number): Promise<number | undefined> {
  const server = createServer().listen({ host: "127.0.0.1", port: wanted });
  try {
    await once(server, "listening");
  } catch (error) {
    if (wanted === 0) throw error;
    return undefined;
  }
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
