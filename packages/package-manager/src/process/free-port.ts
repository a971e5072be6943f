// SPDX-License-Identifier: Apache-2.0
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Ports that were handed out and not given back. */
export interface PortPool {
  /** A port of the loopback interface on which nobody listens. */
  take(): Promise<number>;
  giveBack(port: number): void;
}

/**
 * Finds free ports. Between the look and the program's own start somebody else may take one; the program then ends and is
 * started again on another. No port is handed out twice meanwhile, so functions never get into each other's way.
 */
export function createPortPool(): PortPool {
  const taken = new Set<number>();
  return {
    async take() {
      for (;;) {
        const port = await findFreePort();
        if (taken.has(port)) continue;
        taken.add(port);
        return port;
      }
    },
    giveBack: (port) => void taken.delete(port),
  };
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen({ host: "127.0.0.1", port: 0 });
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
