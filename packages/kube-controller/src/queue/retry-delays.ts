// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";

/** How long a key waits after failures in a row: `baseMs`, then twice that each time, at most `maxMs`. */
export interface Backoff {
  readonly baseMs: number;
  readonly maxMs: number;
}

/** How many retries of all keys together may start, so that many failing objects do not keep a server busy. */
export interface RetryRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** The delays of keys that have to be tried again. Remembers only those. */
export interface RetryDelays {
  /** The delay before the next try, counting one more failure. A conflict waits a fraction: reads catch up in no time. */
  next(key: string, why: "failure" | "conflict"): number;
  /** How many failures in a row a key has had. */
  failures(key: string): number;
  /** The key is fine again. */
  forget(key: string): void;
}

// A conflict means that our copy was a few milliseconds old.
const conflictFraction = 1 / 50;

/** Makes the delays of one queue. */
export function createRetryDelays(clock: Clock, { baseMs, maxMs }: Backoff, rate?: RetryRate): RetryDelays {
  const failures = new Map<string, number>();
  const bucketDelay = rate === undefined ? () => 0 : tokenBucket(clock, rate);
  return {
    next(key, why) {
      const before = failures.get(key) ?? 0;
      failures.set(key, before + 1);
      const base = why === "conflict" ? baseMs * conflictFraction : baseMs;
      // 2^52 times anything is past every maximum; more would be Infinity, then NaN for a base of 0.
      const delay = Math.min(base * 2 ** Math.min(before, 52), maxMs);
      return Math.max(delay, bucketDelay());
    },
    failures: (key) => failures.get(key) ?? 0,
    forget: (key) => void failures.delete(key),
  };
}

/** Says how long to wait for the next token, and takes it. */
function tokenBucket(clock: Clock, { perSecond, burst }: RetryRate): () => number {
  let tokens = burst;
  let filledAt = clock.now();
  return () => {
    const now = clock.now();
    tokens = Math.min(burst, tokens + (Math.max(0, now - filledAt) / 1000) * perSecond);
    filledAt = now;
    tokens -= 1;
    return tokens >= 0 ? 0 : (-tokens / perSecond) * 1000;
  };
}
