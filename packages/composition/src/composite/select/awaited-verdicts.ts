// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import { conditionsOf, type KubeObject, keyText, type ObjectKey } from "@purlin/kube-objects/object";

/**
 * XRs whose CompositionRevision is so new that its pipeline has not been checked. The check takes a moment, so such an XR
 * waits for it instead of failing its first reconcile.
 */
export interface AwaitedVerdicts {
  /** Whether to wait for the condition ValidPipeline of a revision. False when it is set, or after a timeout. */
  isAwaited(xr: ObjectKey, revision: KubeObject): boolean;
  forget(xr: ObjectKey): void;
}

/** An XR waits this long. After that its status says that the state of the pipeline is unknown. */
const patienceMs = 10_000;

/** The polling interval. The verdict starts a reconcile of the XRs that are known to use the revision, which a new XR may not be yet. */
export const verdictPollMs = 250;

export function createAwaitedVerdicts(clock: Pick<Clock, "now">): AwaitedVerdicts {
  const waits = new Map<string, { readonly revision: string; readonly since: number }>();
  return {
    isAwaited(xr, revision) {
      const key = keyText(xr);
      const { uid = "" } = revision.metadata;
      if (conditionsOf(revision).some(({ type }) => type === "ValidPipeline")) {
        waits.delete(key);
        return false;
      }
      const known = waits.get(key);
      const since = known?.revision === uid ? known.since : clock.now();
      waits.set(key, { revision: uid, since });
      return clock.now() - since < patienceMs;
    },
    forget: (xr) => void waits.delete(keyText(xr)),
  };
}
