// SPDX-License-Identifier: Apache-2.0

import { isConflict } from "@purlin/kube-objects/errors";
import { keyText, type ObjectKey } from "@purlin/kube-objects/object";

/** This many conflicts in a row count as races. With the delays between them they take about 2.5 seconds. */
export const maxRaces = 7;

/**
 * The conflicts in a row of each object. A single conflict is a race: the next reconcile reads what the other writer stored, and
 * there is nothing to report. A conflict that returns at every reconcile is a failure that users must see.
 */
export interface ConflictStreaks {
  /** Whether an error is a conflict that still counts as a race. */
  isRace(key: ObjectKey, error: unknown): boolean;
  /** Counts a reconcile that failed with an error, or that succeeded. */
  ended(key: ObjectKey, error?: unknown): void;
}

/** Remembers only the objects whose last reconcile ended in a conflict. */
export function createConflictStreaks(): ConflictStreaks {
  const streaks = new Map<string, number>();
  return {
    isRace: (object, error) => isConflict(error) && (streaks.get(keyText(object)) ?? 0) < maxRaces,
    ended(object, error) {
      const key = keyText(object);
      if (isConflict(error)) streaks.set(key, (streaks.get(key) ?? 0) + 1);
      else streaks.delete(key);
    },
  };
}
