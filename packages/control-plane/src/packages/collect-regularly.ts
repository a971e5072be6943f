// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";

/** The intervals of collections. */
interface CollectRegularlyOptions {
  readonly clock: Clock;
  readonly log: Log;
  /** The delay of the first collection, after existing objects are reconciled. */
  readonly firstMs?: number | undefined;
  readonly everyMs?: number | undefined;
}

const minuteMs = 60_000;

/** Collects periodically until it is disposed of, which waits for a running collection. A failed collection is retried later. */
export function collectRegularly(
  collect: (signal: AbortSignal) => Promise<unknown>,
  { clock, log, firstMs = minuteMs, everyMs = 10 * minuteMs }: CollectRegularlyOptions,
): AsyncDisposable {
  const stopping = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    try {
      await collect(stopping.signal);
    } catch (error) {
      if (stopping.signal.aborted) return;
      log.info("failed to collect unused package contents", {
        error: error instanceof Error ? error.message : String(error),
      });
    }
    if (!stopping.signal.aborted) cancel = clock.schedule(everyMs, start);
  };
  const start = (): void => {
    running = once();
  };
  let cancel = clock.schedule(firstMs, start);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error("the control plane is stopping"));
      cancel();
      await running;
    },
  };
}
