// SPDX-License-Identifier: Apache-2.0
import { keyText, type ObjectKey } from "@purlin/kube-objects/object";

/**
 * How long slow steps of each XR took the last time. A function that always takes long is not worth two writes of every
 * reconcile: it is reported again when it takes longer than usual.
 */
export interface StepDurations {
  /** Milliseconds that a step took when it last ran; 0 when that was not long. */
  last(xr: ObjectKey, step: string): number;
  /** Remembers how long a step took, unless that is less than what counts as long. */
  record(xr: ObjectKey, step: string, duration: { readonly ms: number; readonly longMs: number }): void;
  forget(xr: ObjectKey): void;
}

/** Remembers nothing of XRs whose functions answer soon. */
export function createStepDurations(): StepDurations {
  const durations = new Map<string, Map<string, number>>();
  return {
    last: (xr, step) => durations.get(keyText(xr))?.get(step) ?? 0,
    record(xr, step, { ms, longMs }) {
      const key = keyText(xr);
      const known = durations.get(key);
      if (ms >= longMs) durations.set(key, (known ?? new Map<string, number>()).set(step, ms));
      else if (known?.delete(step) && known.size === 0) durations.delete(key);
    },
    forget: (xr) => void durations.delete(keyText(xr)),
  };
}
