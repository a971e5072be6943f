// SPDX-License-Identifier: Apache-2.0
// The Lock holds one package of each source. A second one yields, so that it does not block all others.

import { isNotFound } from "@purlin/kube-objects/errors";
import { isDeleted, type KubeObject } from "@purlin/kube-objects/object";
import type { ObjectReference } from "../establish/establish.ts";
import { unregisterPackage } from "../lock/dependency-graph.ts";
import { compareClaims, getLock, isResolverMade, type LockEntry } from "../lock/lock-store.ts";
import { packageLabels } from "../package-kinds.ts";
import { releaseObjects } from "./install-objects.ts";
import { packageOf, type RevisionContext } from "./revision-context.ts";

/** Other packages of the source of a revision. */
interface Rivals {
  /** The package that stays in the Lock; undefined when this revision replaces it. */
  readonly lead: KubeObject | undefined;
  /** Entries that this revision replaces. */
  readonly replaced: readonly string[];
}

/** Looks for other packages of the same source in the Lock. */
export async function findRivals(
  context: RevisionContext,
  own: LockEntry,
  siblings: ReadonlySet<string>,
): Promise<Rivals> {
  const { entries } = await getLock(context.client, context.signal);
  const others = entries.filter(
    ({ name, source, kind }) => source === own.source && kind === own.kind && name !== own.name && !siblings.has(name),
  );
  const replaced: string[] = [];
  for (const { name } of others) {
    const rival = await livePackageOf(context, name);
    if (rival !== undefined && compareClaims(rival, await packageOf(context)) < 0) return { lead: rival, replaced: [] };
    replaced.push(name);
  }
  return { lead: undefined, replaced };
}

/** The package of a revision in the Lock; undefined when either is gone or being deleted. */
async function livePackageOf({ client, type, signal }: RevisionContext, name: string): Promise<KubeObject | undefined> {
  const revision = await client.get(type.revision, { name }, { signal });
  if (revision === undefined || isDeleted(revision)) return undefined;
  const owner = revision.metadata.labels?.[packageLabels.package] ?? "";
  const found = await client.get(type.package, { name: owner }, { signal });
  return found === undefined || isDeleted(found) ? undefined : found;
}

/**
 * Leaves the Lock and the installed objects to another package of the same source. A package that the resolver made, and that
 * nothing depends on, is deleted; users decide about all others. Always throws.
 */
export async function giveWay(context: RevisionContext, { source }: LockEntry, lead: KubeObject): Promise<never> {
  const { client, revision, type, signal, events, log } = context;
  await unregisterPackage(client, revision.metadata.name ?? "", signal);
  const objects = await releaseObjects(context);
  const own = await packageOf(context);
  const name = own.metadata.name ?? "";
  const taken = `cannot initialize dependency graph from the packages in the lock: node ${source} already exists: it is installed as ${type.kind} "${lead.metadata.name}"`;
  if (!(await isRedundant(context, { own, lead, objects }))) throw new Error(`${taken}; delete one of the two`);
  await client.delete({ ...type.package, name }, { preconditions: { uid: own.metadata.uid ?? "" }, signal });
  const message = `Deleted ${type.kind} "${name}", a second installation of ${source} that dependency resolution had created`;
  events.event(lead, { type: "Normal", reason: "DeletedDuplicatePackage", message });
  log.info("deleted a duplicate package", { kind: type.kind, name, source, kept: lead.metadata.name ?? "" });
  throw new Error(`${taken}; deleting ${type.kind} "${name}"`);
}

interface Redundancy {
  readonly own: KubeObject;
  readonly lead: KubeObject;
  readonly objects: readonly ObjectReference[];
}

/** Whether a package can be deleted without loss. Compositions name Functions, so those stay. */
async function isRedundant(context: RevisionContext, { own, lead, objects }: Redundancy): Promise<boolean> {
  if (context.type.kind === "Function" || !isResolverMade(own)) return false;
  for (const object of objects) {
    const found = await readOrNone(context, object);
    const owners = found?.metadata.ownerReferences ?? [];
    if (found !== undefined && !owners.some(({ uid }) => uid === lead.metadata.uid)) return false;
  }
  return true;
}

async function readOrNone(
  { client, signal }: RevisionContext,
  object: ObjectReference,
): Promise<KubeObject | undefined> {
  try {
    return await client.live.get(object, { name: object.name }, { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
