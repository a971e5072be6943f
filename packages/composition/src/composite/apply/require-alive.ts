// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { conflict, ignoreNotFound } from "@purlin/kube-objects/errors";
import { isControlledBy, isDeleted, type KubeObject, keyOf, parseApiVersion } from "@purlin/kube-objects/object";

/** An XR as a pass has read it, and as it was when its references were stored; the same when they were not. */
export interface KnownComposite {
  readonly read: KubeObject;
  readonly stored: KubeObject;
}

/** A composed resource as the pass has observed it, and as it is known now that it is about to be applied. */
interface KnownComposed {
  readonly observed: KubeObject | undefined;
  readonly current: KubeObject | undefined;
}

/**
 * Throws a conflict when something would be made or taken in for an XR that is on its way out, or another one by now.
 * The cache of XRs may hear of that later than the one of what they composed: what is being collected would be made once
 * more, and what was to be left behind would be taken back and then deleted.
 */
export async function requireAlive(
  { read, stored }: KnownComposite,
  { observed, current }: KnownComposed,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<void> {
  const { uid } = read.metadata;
  if (current !== undefined && isControlledBy(current, uid)) return;
  // Storing references answers with the XR as it is. What went since then says that the XR may have gone, too.
  const isFresh = stored !== read && observed === undefined;
  const xr = isFresh ? stored : await ignoreNotFound(client.live.get(read, keyOf(read), { signal }));
  if (xr !== undefined && !isDeleted(xr) && xr.metadata.uid === uid) return;
  const { group } = parseApiVersion(read.apiVersion);
  const why = "it is being deleted, and nothing is made for it any more";
  throw conflict({ group, resource: read.kind.toLowerCase() }, read.metadata.name ?? "", why);
}
