// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/kube-controller";

/** What is about to go, and since when. */
export interface Departures {
  /** How long it has to stay yet; 0 when it may go. Its time begins when this is first asked. */
  waitMs(revision: string): number;
  /** It is gone, or needed again. */
  forget(revision: string): void;
}

/** How long things stay. */
interface DepartureOptions {
  readonly clock: Clock;
  /** A call that was sent there a moment ago may not have arrived yet. */
  readonly lingerMs: number;
  readonly isInUse?: ((revision: string) => boolean) | undefined;
}

const lookAgainMs = 1_000;
/** Runs have deadlines; what takes longer than this is not waited for. */
const limitMs = 150_000;

/** Keeps what nobody is sent to any more for a while, and for as long as runs use it, within reason. */
export function createDepartures({ clock, lingerMs, isInUse = () => false }: DepartureOptions): Departures {
  const since = new Map<string, number>();
  return {
    waitMs(revision) {
      const began = since.get(revision) ?? clock.now();
      since.set(revision, began);
      const age = clock.now() - began;
      if (age < lingerMs) return lingerMs - age;
      return age < limitMs && isInUse(revision) ? lookAgainMs : 0;
    },
    forget(revision) {
      since.delete(revision);
    },
  };
}
