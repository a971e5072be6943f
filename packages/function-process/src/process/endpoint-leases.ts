// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";

/** Which addresses are in use. */
export interface EndpointLeases {
  /** A run begins there; call the result when it is over. */
  acquire(address: string): () => void;
  /** Resolves when the last run there is over, but never before runs that are on their way have begun. */
  released(address: string): Promise<void>;
}

/** Timeouts for runs at an address that has been replaced. */
interface EndpointLeaseOptions {
  readonly clock: Clock;
  /** A run that was sent there a moment ago may not have begun yet. */
  readonly lingerMs: number;
  /** The longest time to wait for a run. */
  readonly limitMs: number;
}

/** Counts the runs at each address, so that a process is stopped only when no run uses it. */
export function createEndpointLeases({ clock, lingerMs, limitMs }: EndpointLeaseOptions): EndpointLeases {
  const counts = new Map<string, number>();
  const waiting = new Map<string, Set<() => void>>();
  const release = (address: string): void => {
    const left = (counts.get(address) ?? 1) - 1;
    if (left > 0) {
      counts.set(address, left);
      return;
    }
    counts.delete(address);
    for (const wake of waiting.get(address) ?? []) wake();
  };
  return {
    acquire(address) {
      counts.set(address, (counts.get(address) ?? 0) + 1);
      let held = true;
      return () => {
        if (held) release(address);
        held = false;
      };
    },
    async released(address) {
      await delay(clock, lingerMs);
      if (!counts.has(address)) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const others = waiting.get(address) ?? new Set();
      waiting.set(address, others.add(resolve));
      const cancel = clock.schedule(limitMs, resolve);
      await promise;
      cancel();
      others.delete(resolve);
      if (others.size === 0) waiting.delete(address);
    },
  };
}

function delay(clock: Clock, ms: number): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  clock.schedule(ms, resolve);
  return promise;
}
