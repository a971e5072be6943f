// SPDX-License-Identifier: Apache-2.0

/** How long a pass may work, and how long it may tell how that went. */
export interface PassSignals {
  /** For the work. */
  readonly signal: AbortSignal;
  /** For what is told: it ends later, so that work which took too long is told as well. */
  readonly telling: AbortSignal;
  readonly timeoutMs: number;
}

const tellingMs = 10_000;

/** The signals of a pass that begins now. */
export function passSignals(stopping: AbortSignal, timeoutMs: number): PassSignals {
  const within = (ms: number): AbortSignal => AbortSignal.any([stopping, AbortSignal.timeout(ms)]);
  return { signal: within(timeoutMs), telling: within(timeoutMs + tellingMs), timeoutMs };
}

/** Does the slow part of a pass. That its time is up is said in words: whatever was aborted does not know how long it took. */
export async function inTime<T>(
  { signal, telling, timeoutMs }: PassSignals,
  work: () => Promise<T>,
  what = "it",
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!signal.aborted || telling.aborted) throw error;
    throw new Error(`${what} is not done after ${timeoutMs / 1000} s, and is tried again`, { cause: error });
  }
}
