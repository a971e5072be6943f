// SPDX-License-Identifier: Apache-2.0
// Moves of composed resources between two composite resources. Both must declare the move: neither can take a resource from, or push one
// onto, another. The receiver stores its reference first, then takes over the object with one write, and applies it after that. The
// giver keeps object and reference until the object has its new owner. Wherever this ends, one of the two refers to the object.

import type { ControllerClient } from "@purlin/kube-controller";
import { during, ignoreNotFound } from "@purlin/kube-objects/errors";
import {
  annotationOf,
  controllerOf,
  controllerReference,
  isControlledBy,
  isDeleted,
  type KubeObject,
  keyOf,
  withMember,
} from "@purlin/kube-objects/object";
import { annotations, fieldManagers, kinds } from "../../composite-resource/constants.ts";
import { resourceRefsOf, revisionRefOf } from "../../composite-resource/crossplane-fields.ts";
import { composedFieldManager } from "../apply/apply-composed.ts";
import type { DesiredResource } from "../apply/desired-resources.ts";
import type { Observed } from "../observe/observe.ts";
import { sameGroupKind } from "./guard.ts";
import { type Move, type MoveComposite, movesOf } from "./moves.ts";

/** A composed resource that comes from another composite resource. */
export interface Arrival {
  /** Its name in the pipeline of the receiver. */
  readonly name: string;
  readonly object: KubeObject;
  /** The composite resource that it belongs to until now. */
  readonly giver: KubeObject;
}

/** The resources that can be adopted and those that cannot, as text. */
interface Arrivals {
  readonly arrivals: readonly Arrival[];
  readonly impossible: readonly string[];
}

interface Reader {
  readonly client: ControllerClient;
  readonly signal: AbortSignal;
}

/** The names of observed resources that another composite resource takes over: they are not deleted, and stay referred to. */
export function departing(
  moves: readonly Move[],
  { resources }: Pick<Observed, "resources">,
  desired: ReadonlySet<string>,
): ReadonlySet<string> {
  const leaving = moves.filter(({ from, to }) => to.composite !== undefined && !desired.has(from.resource));
  return new Set(leaving.map(({ from }) => from.resource).filter((name) => resources.has(name)));
}

/** Finds the resources that moves bring to an XR. A resource that the giver does not release is not created a second time. */
export async function findArrivals(
  moves: readonly Move[],
  { xr, observed, desired }: { xr: KubeObject; observed: Observed; desired: readonly DesiredResource[] },
  reader: Reader,
): Promise<Arrivals> {
  const arrivals: Arrival[] = [];
  const impossible: string[] = [];
  const desiredByName = new Map(desired.map((resource) => [resource.name, resource]));
  for (const move of moves) {
    const wanted = desiredByName.get(move.to.resource);
    if (move.from.composite === undefined || wanted === undefined || observed.resources.has(wanted.name)) continue;
    const found = await findGiven(move.from.composite, { move, xr, wanted: wanted.object }, reader);
    if (found === undefined) continue;
    const { giver, object } = found;
    if (await consents(giver, { move, xr }, reader)) arrivals.push({ name: wanted.name, object, giver });
    else impossible.push(`"${wanted.name}": ${giver.kind} "${giver.metadata.name ?? ""}" does not declare the move`);
  }
  return { arrivals, impossible };
}

interface Wanted {
  readonly move: Move;
  readonly xr: KubeObject;
  readonly wanted: KubeObject;
}

/** The giver and the object, as long as the giver controls it. */
async function findGiven(
  composite: MoveComposite,
  { move, xr, wanted }: Wanted,
  { client, signal }: Reader,
): Promise<Omit<Arrival, "name"> | undefined> {
  const owner = controllerOf(xr);
  const isOwner = composite.name === undefined && owner !== undefined && sameGroupKind(owner, composite);
  const name = composite.name ?? (isOwner ? owner.name : (xr.metadata.name ?? ""));
  const { namespace } = xr.metadata;
  const giver = await ignoreNotFound(client.live.get(composite, { namespace, name }, { signal }));
  if (giver === undefined || isDeleted(giver) || giver.metadata.namespace !== namespace) return undefined;
  const refs = [...resourceRefsOf(giver, "modern"), ...resourceRefsOf(giver, "legacy")];
  for (const ref of refs.filter((one) => sameGroupKind(one, wanted))) {
    const key = { namespace: namespace || ref.namespace, name: ref.name ?? "" };
    const object = await ignoreNotFound(client.live.get(ref, key, { signal }));
    const isIt = object !== undefined && annotationOf(object, annotations.resourceName) === move.from.resource;
    if (isIt && !isDeleted(object) && isControlledBy(object, giver.metadata.uid)) return { giver, object };
  }
  return undefined;
}

/** Whether the giver, or the Composition that composes it, declares the same move. */
async function consents(
  giver: KubeObject,
  { move, xr }: Pick<Wanted, "move" | "xr">,
  { client, signal }: Reader,
): Promise<boolean> {
  const name = revisionRefOf(giver, "modern") ?? revisionRefOf(giver, "legacy");
  const revision = name === undefined ? undefined : await client.get(kinds.revision, { name }, { signal });
  return movesOf(giver, revision).some(({ from, to }) => {
    if (to.composite === undefined || !sameGroupKind(to.composite, xr)) return false;
    if (from.resource !== move.from.resource || to.resource !== move.to.resource) return false;
    if (to.composite.name !== undefined) return to.composite.name === xr.metadata.name;
    return giver.metadata.name === xr.metadata.name || isControlledBy(xr, giver.metadata.uid);
  });
}

/**
 * Gives an object to an XR: owner, name in the pipeline and field ownership change in one write, which fails when the object has changed
 * meanwhile. The fields that the giver applied belong to the receiver, so that its next apply removes those it does not want.
 */
export async function takeOver(
  { name, object, giver }: Arrival,
  xr: KubeObject,
  { client, signal }: Reader,
): Promise<KubeObject> {
  const [old, own] = [composedFieldManager(giver), composedFieldManager(xr)];
  const { ownerReferences, managedFields } = object.metadata;
  const owners = (ownerReferences ?? []).filter(({ uid }) => uid !== giver.metadata.uid);
  const ownership = (managedFields ?? []).map((entry) => (entry.manager === old ? { ...entry, manager: own } : entry));
  const named = withMember(object, ["metadata", "annotations", annotations.resourceName], name);
  const owned = withMember(named, ["metadata", "ownerReferences"], [...owners, controllerReference(xr)]);
  const given = withMember(owned, ["metadata", "managedFields"], ownership);
  const what = `${object.kind} "${keyOf(object).name}" of ${giver.kind} "${giver.metadata.name ?? ""}"`;
  return during(`cannot take over ${what}`, () => client.update(given, { fieldManager: fieldManagers.update, signal }));
}
