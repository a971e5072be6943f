// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import { type NetworkMaker, type NetworkShape, openSandboxNetwork, type SandboxNetwork } from "./sandbox-network.ts";

/** Sandbox networks opened ahead of time: a network takes longer to be ready than most functions do. */
export interface SandboxNetworkPool {
  /** Opens a network for a function unless one is waiting. It is closed again if it is not taken soon. */
  warm(name: string, maker: NetworkMaker): void;
  /** The network that waits for a function, or a new one. */
  take(name: string, maker: NetworkMaker): SandboxNetwork;
  /** A new network of another shape. */
  open(maker: NetworkMaker, shape: NetworkShape): SandboxNetwork;
  /** Closes the waiting networks and opens no more. */
  close(): Promise<void>;
}

/** How long a network waits for its function. */
const waitMs = 10_000;

interface Waiting {
  readonly network: SandboxNetwork;
  readonly cancel: () => void;
}

/** Makes a pool. */
export function createSandboxNetworkPool(
  clock: Clock,
  open: (maker: NetworkMaker, shape?: NetworkShape) => SandboxNetwork = openSandboxNetwork,
): SandboxNetworkPool {
  const waiting = new Map<string, Waiting>();
  let isClosed = false;
  const remove = (name: string): SandboxNetwork | undefined => {
    const found = waiting.get(name);
    waiting.delete(name);
    found?.cancel();
    return found?.network;
  };
  return {
    warm(name, maker) {
      if (isClosed || waiting.has(name)) return;
      const network = open(maker);
      const cancel = clock.schedule(waitMs, () => remove(name)?.process.kill());
      waiting.set(name, { network, cancel });
      void network.process.ended.then(() => waiting.get(name)?.network === network && remove(name));
    },
    take: (name, maker) => remove(name) ?? open(maker),
    open: (maker, shape) => open(maker, shape),
    async close() {
      isClosed = true;
      const networks = [...waiting.keys()].flatMap((name) => remove(name) ?? []);
      for (const { process } of networks) process.kill();
      await Promise.all(networks.map(({ process }) => process.ended));
    },
  };
}
