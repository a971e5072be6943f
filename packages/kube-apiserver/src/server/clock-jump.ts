// SPDX-License-Identifier: Apache-2.0

/** The two clocks of a machine: one that can be set, one that only passes. */
export interface TwoClocks {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  /** Calls again and again, until what it returns is called. */
  readonly every: (ms: number, act: () => void) => () => void;
}

/** Well within a minute. */
const lookEveryMs = 20_000;
/** What is set by less matters to no certificate; a busy machine looks late, on both clocks alike. */
const jumpMs = 30_000;

/**
 * Calls when the clock of the machine was set, or stood still with it, with how far it moved: forward is positive. Returns the way to
 * stop it.
 */
export function watchForJumps({ wallMs, monotonicMs, every }: TwoClocks, onJump: (byMs: number) => void): () => void {
  let difference = wallMs() - monotonicMs();
  return every(lookEveryMs, () => {
    const now = wallMs() - monotonicMs();
    const byMs = now - difference;
    difference = now;
    if (Math.abs(byMs) >= jumpMs) onJump(byMs);
  });
}
