// SPDX-License-Identifier: Apache-2.0

import type { ReconcileContext } from "@purlin/kube-controller";
import { withMember } from "@purlin/kube-objects/object";

/** Removes all conditions of an object that is no longer paused; the write starts the next reconcile, which sets them again. */
export function clearConditions({ stored, writeStatus }: ReconcileContext): Promise<void> {
  return writeStatus(withMember(stored.object, ["status", "conditions"], undefined));
}
