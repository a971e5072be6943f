// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";

/** Waits, or returns early when the signal aborts. */
export type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

const firstDelayMs = 200;
const longestDelayMs = 30_000;

/** How long to wait after so many failures in a row: doubling, up to half a minute, a little different each time. */
export function backoffDelay(failures: number, random: () => number = Math.random): number {
  const delayMs = Math.min(firstDelayMs * 2 ** Math.min(failures, 20), longestDelayMs);
  return delayMs * (0.8 + 0.4 * random());
}

/** Waits by the clock. */
export const sleep: Sleep = async (milliseconds, signal) => {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
};
