// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Ports of functions that were handed out and not given back. */
export interface PortPool {
  /** A free port of the loopback interface: the wanted one, if it is free. */
  take(wanted?: number): Promise<number>;
  giveBack(port: number): void;
}

/**
 * Finds free ports. Another program may take a port before the function listens on it; the function then ends and is
 * started again on another port. No port is handed out twice at a time. A wanted port is the published endpoint of a
 * function that is started again: other functions never get it, as callers would reach them in its place.
 */
export function createPortPool(find: (wanted: number) => Promise<number | undefined> = findFreePort): PortPool {
  const taken = new Set<number>();
  const published = new Set<number>();
  return {
    async take(wanted = 0) {
      if (wanted !== 0) published.add(wanted);
      for (let wish = wanted; ; wish = 0) {
        const port = await find(wish);
        const isOthers = port !== wanted && published.has(port ?? 0);
        if (port === undefined || taken.has(port) || isOthers) continue;
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
