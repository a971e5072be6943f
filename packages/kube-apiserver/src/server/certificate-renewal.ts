// SPDX-License-Identifier: Apache-2.0
import { loadCertificates, type ServingCertificates } from "./serving-certificates.ts";

/** What time it is, and how to be told when some has passed. */
export interface RenewalClock {
  readonly now: () => Date;
  /** Calls again and again, until what it returns is called. Never keeps the process alive. */
  readonly every: (ms: number, act: () => void) => () => void;
}

/** The clock of the machine. */
export const systemClock: RenewalClock = {
  now: () => new Date(),
  every: (ms, act) => {
    const timer = setInterval(act, ms).unref();
    return () => clearInterval(timer);
  },
};

export interface RenewalOptions {
  readonly directory: string;
  readonly current: ServingCertificates;
  readonly clock: RenewalClock;
  /** Gets all certificates when at least one of them is new. */
  readonly onRenewed: (certificates: ServingCertificates) => void;
  /** Told why nothing could be renewed; it is tried again. */
  readonly onError: (error: unknown) => void;
}

/** Often enough that none expires: certificates are due for renewal months before. */
const LOOK_EVERY_MS = 6 * 60 * 60 * 1000;

/** Renews the certificates of a running server before they expire. Returns the way to stop it. */
export function renewInTime({ directory, current, clock, onRenewed, onError }: RenewalOptions): () => void {
  let known = current;
  return clock.every(LOOK_EVERY_MS, () => {
    try {
      const loaded = loadCertificates(directory, { now: clock.now() });
      if (isSame(loaded, known)) {
        return;
      }
      known = loaded;
      onRenewed(loaded);
    } catch (error) {
      onError(error);
    }
  });
}

function isSame(one: ServingCertificates, other: ServingCertificates): boolean {
  return (["authority", "server", "admin"] as const).every((name) => one[name].certPem === other[name].certPem);
}
