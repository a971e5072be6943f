// SPDX-License-Identifier: Apache-2.0
// Leases keep what serves calls, a function revision or an endpoint of one, from being stopped while calls use it.
import type { Clock } from "@purlin/base";

/** A use of a key. What the key names is not stopped before the lease is released. */
export interface Lease {
  /** Has no effect when called again. */
  readonly release: () => void;
}

/** The uses of keys, such as revisions or endpoints. */
interface Leases {
  /** Begins a use. `onRelease` is called once, when the lease is released. */
  acquire(key: string, onRelease?: () => void): Lease;
  isHeld(key: string): boolean;
  /** Calls back whenever the last lease of a key is released; the result ends that. */
  onChange(callback: (key: string) => void): () => void;
}

/** Counts the leases of each key. */
export function createLeases(): Leases {
  const counts = new Map<string, number>();
  const callbacks = new Set<(key: string) => void>();
  const release = (key: string): void => {
    const left = (counts.get(key) ?? 1) - 1;
    if (left > 0) {
      counts.set(key, left);
      return;
    }
    counts.delete(key);
    for (const callback of callbacks) callback(key);
  };
  return {
    acquire(key, onRelease) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      let isHeld = true;
      return {
        release() {
          if (!isHeld) return;
          isHeld = false;
          release(key);
          onRelease?.();
        },
      };
    },
    isHeld: (key) => counts.has(key),
    onChange(callback) {
      callbacks.add(callback);
      return () => void callbacks.delete(callback);
    },
  };
}

/** When what was replaced or retired may be stopped. */
export interface Retirements {
  /** How long a key has to keep running; 0 when it may be stopped. The time starts with the first call. */
  waitMs(key: string): number;
  /** The key was stopped, or is active again. */
  forget(key: string): void;
  /** Resolves when the key may be stopped. */
  ended(key: string): Promise<void>;
}

interface RetirementOptions {
  readonly clock: Clock;
  /** How long a call that was sent to a key may take to acquire its lease. */
  readonly lingerMs: number;
  /** Calls have deadlines; a lease that is held for longer is not waited for. Default: 150 s. */
  readonly limitMs?: number | undefined;
  readonly leases?: (Pick<Leases, "isHeld"> & Partial<Pick<Leases, "onChange">>) | undefined;
}

const pollMs = 1_000;
const defaultLimitMs = 150_000;

/** Keeps keys running for a while, and for as long as leases are held, up to a limit. */
export function createRetirements(options: RetirementOptions): Retirements {
  const { clock, lingerMs, limitMs = defaultLimitMs, leases } = options;
  const since = new Map<string, number>();
  const left = (key: string, began: number): number => {
    const age = clock.now() - began;
    if (age < lingerMs) return lingerMs - age;
    return age < limitMs && leases?.isHeld(key) === true ? Math.min(pollMs, limitMs - age) : 0;
  };
  const releasedWithin = (key: string, ms: number): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.schedule(ms, resolve);
    const end = leases?.onChange?.((released) => {
      if (released === key) resolve();
    });
    return promise.finally(() => {
      cancel();
      end?.();
    });
  };
  return {
    waitMs(key) {
      const began = since.get(key) ?? clock.now();
      since.set(key, began);
      return left(key, began);
    },
    forget(key) {
      since.delete(key);
    },
    async ended(key) {
      const began = clock.now();
      for (let ms = left(key, began); ms > 0; ms = left(key, began)) await releasedWithin(key, ms);
    },
  };
}
