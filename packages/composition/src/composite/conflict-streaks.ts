// SPDX-License-Identifier: Apache-2.0

import { isConflict } from "@purlin/kube-objects";
import { keyText, type ObjectKey } from "@purlin/kube-objects/object";

/**
 * The conflicts that each XR met in a row. A single conflict is a race: the next reconcile reads what the other writer
 * stored, and there is nothing to report. A conflict that returns every time is a failure that users must see.
 */
export interface ConflictStreaks {
  /** Whether a conflict of this XR is still taken for a race. */
  isRace(xr: ObjectKey, error: unknown): boolean;
  /** Counts a reconcile that failed with an error, or that succeeded. */
  ended(xr: ObjectKey, error?: unknown): void;
  forget(xr: ObjectKey): void;
}

/** With the delays between them this many conflicts take about 2.5 seconds. */
const mostRaces = 7;

export function createConflictStreaks(): ConflictStreaks {
  const streaks = new Map<string, number>();
  return {
    isRace: (xr, error) => isConflict(error) && (streaks.get(keyText(xr)) ?? 0) < mostRaces,
    ended(xr, error) {
      const key = keyText(xr);
      if (isConflict(error)) streaks.set(key, (streaks.get(key) ?? 0) + 1);
      else streaks.delete(key);
    },
    forget: (xr) => void streaks.delete(keyText(xr)),
  };
}
