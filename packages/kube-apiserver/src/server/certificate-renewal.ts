// SPDX-License-Identifier: Apache-2.0
import { loadCertificates, type ServingCertificates } from "./serving-certificates.ts";

/** The two clocks of a machine: one that can be set, one that only passes. */
interface TwoClocks {
  readonly wallMs: () => number;
  readonly monotonicMs: () => number;
  /** Calls again and again, until what it returns is called. */
  readonly every: (ms: number, act: () => void) => () => void;
}

/** Well within a minute. */
const lookEveryMs = 20_000;

/** What is set by less matters to no certificate; a busy machine looks late, on both clocks alike. */
const jumpMs = 30_000;

/** The current time, and a periodic timer. */
export interface RenewalClock {
  readonly now: () => Date;
  /** Calls again and again, until what it returns is called. Never keeps the process alive. */
  readonly every: (ms: number, act: () => void) => () => void;
  /** Milliseconds that only pass, whatever the time is set to; without it nothing notices that the clock was set. */
  readonly monotonicMs?: () => number;
}

/** The clock of the machine. */
export const systemClock: RenewalClock = {
  now: () => new Date(),
  every: (ms, act) => {
    const timer = setInterval(act, ms).unref();
    return () => clearInterval(timer);
  },
  monotonicMs: () => performance.now(),
};

interface RenewalOptions {
  readonly directory: string;
  readonly current: ServingCertificates;
  readonly clock: RenewalClock;
  /** Gets all certificates when at least one of them is new. */
  readonly onRenewed: (certificates: ServingCertificates) => void;
  /** Called with the difference when the clock of the machine was set, before certificates are checked. */
  readonly onClockJump?: ((byMs: number) => void) | undefined;
  /** Called with the error when a renewal failed; it is retried. */
  readonly onError: (error: unknown) => void;
}

/** Often enough that none expires: certificates are due for renewal months before. */
const checkEveryMs = 6 * 60 * 60 * 1000;

/** Renews the certificates of a running server before they expire. Returns the way to stop it. */
export function renewInTime(options: RenewalOptions): () => void {
  const { directory, current, clock, onRenewed, onClockJump, onError } = options;
  let known = current;
  const look = (): void => {
    try {
      const loaded = loadCertificates(directory, { now: clock.now(), current: known });
      if (isSame(loaded, known)) return;
      known = loaded;
      onRenewed(loaded);
    } catch (error) {
      onError(error);
    }
  };
  const stopLooking = clock.every(checkEveryMs, look);
  const stopWatching = watchClock(clock, (byMs) => {
    onClockJump?.(byMs);
    look();
  });
  return () => {
    stopLooking();
    stopWatching();
  };
}

function watchClock({ now, every, monotonicMs }: RenewalClock, onJump: (byMs: number) => void): () => void {
  if (monotonicMs === undefined) return () => {};
  return watchForJumps({ wallMs: () => now().getTime(), monotonicMs, every }, onJump);
}

function isSame(one: ServingCertificates, other: ServingCertificates): boolean {
  return (["authority", "server", "admin"] as const).every((name) => one[name].certPem === other[name].certPem);
}

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
