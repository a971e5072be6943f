// SPDX-License-Identifier: Apache-2.0
/** The time, and timers. Tests pass a clock that they advance themselves. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Runs `task` once after a delay, and returns a function that cancels it. A pending task does not keep the process alive. */
  schedule(delayMs: number, task: () => void): () => void;
}

// The longest delay of setTimeout; a longer one would fire at once.
const longestDelayMs = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  schedule(delayMs, task) {
    const timer = setTimeout(task, Math.min(delayMs, longestDelayMs));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Runs `task` every `intervalMs` until the returned function is called. */
export function repeat(clock: Clock, intervalMs: number, task: () => void): () => void {
  let cancel = clock.schedule(intervalMs, tick);
  function tick(): void {
    cancel = clock.schedule(intervalMs, tick);
    task();
  }
  return () => cancel();
}

const unitMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

// There is one way to read a number: with two, a long row of digits without a unit would be tried in every split.
const part = /(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)/y;

/** Milliseconds of a duration as Go writes it, such as `-1m30s`; undefined for any other text. */
export function parseGoDuration(text: string): number | undefined {
  const sign = text.startsWith("-") ? -1 : 1;
  const unsigned = text.replace(/^[+-]/, "");
  if (unsigned === "0") return 0;
  if (unsigned === "") return undefined;
  let total = 0;
  part.lastIndex = 0;
  while (part.lastIndex < unsigned.length) {
    const match = part.exec(unsigned);
    if (match === null) return undefined;
    total += Number(match[1]) * (unitMs[match[2] ?? ""] ?? 0);
  }
  return sign * total;
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
