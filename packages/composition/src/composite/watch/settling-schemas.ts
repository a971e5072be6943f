// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/kube-controller";
import { keyText, type ObjectKey } from "@purlin/kube-objects/object";

/**
 * XRs whose functions look at a schema that has just changed. An API server publishes a schema some time after it stored
 * its definition and tells nobody, so these are looked at a few times more.
 */
export interface SettlingSchemas {
  /** A definition that an XR's functions depend on has changed. */
  changed(xr: ObjectKey): void;
  /** When to look at an XR again; undefined when what its functions see is what there is. */
  lookAgainMs(xr: ObjectKey): number | undefined;
  forget(xr: ObjectKey): void;
}

const settlingMs = 20_000;
/** A little more than whoever reads schemas believes a list of them. */
const everyMs = 6000;

export function createSettlingSchemas(clock: Pick<Clock, "now">): SettlingSchemas {
  const until = new Map<string, number>();
  return {
    changed(xr) {
      until.set(keyText(xr), clock.now() + settlingMs);
    },
    lookAgainMs(xr) {
      const key = keyText(xr);
      if ((until.get(key) ?? 0) > clock.now()) return everyMs;
      until.delete(key);
      return undefined;
    },
    forget: (xr) => void until.delete(keyText(xr)),
  };
}
