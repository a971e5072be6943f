// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";

// The garbage collector of a cluster looks for new kinds every half minute, and on a busy machine it may miss a turn.
const patienceMs = 120_000;
const pauseMs = 5;

/** Looks again and again until there is something to see, and gives it. What a look throws counts as nothing. */
export async function eventually<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const end = performance.now() + patienceMs;
  let failure: unknown;
  for (;;) {
    try {
      const found = await look();
      if (found !== undefined && found !== false) return found;
    } catch (error) {
      failure = error;
    }
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`, { cause: failure });
    await delay(pauseMs);
  }
}
