// SPDX-License-Identifier: Apache-2.0
import type { ObjectKey } from "@purlin/kube-objects/object";

/** When to look at an object again. Empty: when something changes. */
export interface ReconcileResult {
  /** Again, through the key's backoff. */
  readonly requeue?: boolean;
  /** Again, this much later; the key's backoff starts anew. */
  readonly requeueAfterMs?: number;
}

/**
 * Brings one object towards what it asks for. A conflict anywhere in a rejection's chain of causes is a quiet requeue;
 * any other rejection is logged, and both go through the key's backoff. The signal aborts when the controller stops.
 */
export type Reconcile = (key: ObjectKey, signal: AbortSignal) => Promise<ReconcileResult>;
