// SPDX-License-Identifier: Apache-2.0

import type { Clock, Reconcile, ReconcileResult } from "@purlin/kube-controller";
import type { ObjectKey } from "@purlin/kube-objects/object";

/** The two ends a reconcile may come to from outside. */
export interface ReconcileSignals {
  /** Aborts when the time is up, or when the controller stops. */
  readonly signal: AbortSignal;
  /** Aborts when the controller stops: for what is still to be said when the time is up. */
  readonly stopping: AbortSignal;
}

/** A reconcile that is given so much time. The timer goes with it, however many there are. */
export function reconcileWithin(
  timeoutMs: number,
  clock: Clock,
  reconcile: (key: ObjectKey, signals: ReconcileSignals) => Promise<ReconcileResult>,
): Reconcile {
  return async (key, stopping) => {
    const late = new AbortController();
    const cancel = clock.schedule(timeoutMs, () => {
      late.abort(new Error(`the reconcile took longer than ${timeoutMs / 1000} s`));
    });
    try {
      return await reconcile(key, { signal: AbortSignal.any([stopping, late.signal]), stopping });
    } finally {
      cancel();
    }
  };
}
