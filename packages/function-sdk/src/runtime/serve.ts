// SPDX-License-Identifier: Apache-2.0
import process from "node:process";
import type { FunctionHandler } from "./function-handler.ts";
import type { ServeOptions } from "./serve-options.ts";
import { type RunningFunction, start } from "./start.ts";

/** Options of {@link serve}. */
export interface ServeUntilOptions extends ServeOptions {
  /** Stops the function when it is aborted, as a signal to the process does. */
  readonly signal?: AbortSignal | undefined;
  /** Called once the function listens. */
  readonly onReady?: ((running: RunningFunction) => void) | undefined;
}

const stopSignals = ["SIGTERM", "SIGINT"] as const;

/**
 * Serves a function until the process gets SIGTERM or SIGINT, and resolves once it has stopped: calls in flight may
 * finish within the grace period. A second signal ends that period at once.
 */
export async function serve(handler: FunctionHandler, options: ServeUntilOptions = {}): Promise<void> {
  const { promise: asked, resolve: ask } = Promise.withResolvers<void>();
  let running: RunningFunction | undefined;
  let times = 0;
  const stop = (): void => {
    times++;
    ask();
    if (times > 1) void running?.stop(0);
  };
  // Before the function starts: a signal that comes meanwhile must not end the process in its own way.
  for (const signal of stopSignals) process.on(signal, stop);
  options.signal?.addEventListener("abort", stop);
  if (options.signal?.aborted === true) stop();
  try {
    running = await start(handler, options);
    options.onReady?.(running);
    await asked;
    await running.stop(times > 1 ? 0 : undefined);
  } finally {
    for (const signal of stopSignals) process.off(signal, stop);
    options.signal?.removeEventListener("abort", stop);
  }
}
