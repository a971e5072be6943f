// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, keyOf } from "@purlin/kube-client/objects";
import type { ControllerClient } from "@purlin/kube-controller";
import { isControlledBy, isDeleted } from "@purlin/kube-controller/object";
import { conflict, ignoreNotFound, parseApiVersion } from "@purlin/kube-objects";
import type { Observed } from "../observe/observe.ts";
import type { DesiredResource } from "./desired-resources.ts";

/** An XR as a pass has read it, and as its references were stored. */
export interface KnownComposite {
  readonly read: KubeObject;
  readonly stored: KubeObject;
}

/**
 * Throws a conflict when something would be made or taken in for an XR that is on its way out, or another one by now.
 * The cache of XRs may hear of that later than the one of what they composed: what is being collected would be made once
 * more, and what was to be left behind would be taken back and then deleted.
 */
export async function requireAlive(
  { read, stored }: KnownComposite,
  desired: readonly DesiredResource[],
  { resources }: Pick<Observed, "resources">,
  { client, signal }: { readonly client: ControllerClient; readonly signal: AbortSignal },
): Promise<void> {
  const { uid } = read.metadata;
  const isOurs = ({ name }: DesiredResource): boolean => {
    const observed = resources.get(name);
    return observed !== undefined && isControlledBy(observed.object, uid);
  };
  if (desired.every(isOurs)) return;
  // Storing references answers with the XR as it is.
  const current = stored !== read ? stored : await ignoreNotFound(client.live.get(read, keyOf(read), { signal }));
  if (current !== undefined && !isDeleted(current) && current.metadata.uid === uid) return;
  const { group } = parseApiVersion(read.apiVersion);
  const why = "it is being deleted, and nothing is made for it any more";
  throw conflict({ group, resource: read.kind.toLowerCase() }, read.metadata.name ?? "", why);
}
