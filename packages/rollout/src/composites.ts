// SPDX-License-Identifier: Apache-2.0

import {
  compositeControllerName,
  compositionKinds,
  compositionRefOf,
  crossplaneLabels,
  definitionFacts,
  functionReferences,
  revisionRefOf,
  updatePolicyOf,
} from "@purlin/composition";
import { bucketCount, bucketOf, carriesAll, isMember } from "@purlin/function-runner";
import type { ControllerClient } from "@purlin/kube-controller";
import {
  conditionOf,
  conditionsOf,
  isDeleted,
  isPaused,
  type KubeObject,
  keyOf,
  labelOf,
  type ObjectKey,
  objectAt,
  objectsAt,
  stringAt,
} from "@purlin/kube-objects/object";
import type { CallSamples } from "./call-samples.ts";
import type { SideNumbers } from "./gates.ts";
import type { RolloutPlan } from "./plan.ts";
import type { CompositeNumbers, RolloutState } from "./state.ts";

/** A composite resource that takes part in a rollout. */
export interface CompositeRow {
  readonly object: KubeObject;
  readonly uid: string;
  readonly key: ObjectKey;
  /** The controller that reconciles it. */
  readonly controller: string;
  readonly bucket: number;
  /** Whether a reconcile of it would run functions. */
  readonly isMovable: boolean;
  readonly isSynced: boolean;
  /** Whether the candidate ran for it last, as far as this process knows: its status may not say so yet. */
  readonly isOnCandidate: boolean;
  /** Whether its status says that the last reconcile ran the candidate. */
  readonly isObserved: boolean;
}

/** Which composite resources to collect. */
interface Collection {
  readonly client: Pick<ControllerClient, "list">;
  readonly plan: RolloutPlan;
  readonly state: RolloutState;
  readonly rolloutUid: string;
  readonly samples: Pick<CallSamples, "lastRevision">;
  /** Buckets by uid; filled on the way. */
  readonly buckets: Map<string, number>;
  readonly signal: AbortSignal;
}

/** The composite resources that a rollout concerns. */
export async function collectComposites(collection: Collection): Promise<readonly CompositeRow[]> {
  const { client, plan, signal } = collection;
  const revisions = (await client.list(compositionKinds.revision, { signal })).filter((one) => concerns(plan, one));
  const names = new Set(revisions.map(({ metadata }) => metadata.name ?? ""));
  const types = new Set(revisions.map((one) => typeText(objectAt(one, ["spec", "compositeTypeRef"]))));
  const rows: CompositeRow[] = [];
  for (const definition of await client.list(compositionKinds.definition, { signal })) {
    const { compositeType, schema, name } = definitionFacts(definition);
    if (!types.has(typeText(compositeType))) continue;
    const controller = compositeControllerName(name);
    for (const object of await client.list(compositeType, { signal })) {
      const isConcerned =
        plan.composition === undefined
          ? names.has(revisionRefOf(object, schema) ?? "")
          : compositionRefOf(object, schema) === plan.composition && updatePolicyOf(object, schema) !== "Manual";
      if (!isConcerned || isDeleted(object)) continue;
      const ref = plan.composition === undefined ? undefined : revisionRefOf(object, schema);
      rows.push(rowOf(object, { controller, ref, collection }));
    }
  }
  return rows;
}

function typeText(type: object): string {
  return `${stringAt(type, ["apiVersion"])}/${stringAt(type, ["kind"])}`;
}

/** Whether a revision is of the Composition, or has a step that the rollout decides about. */
function concerns({ composition, functions, compositionLabels }: RolloutPlan, revision: KubeObject): boolean {
  if (composition !== undefined) return labelOf(revision, crossplaneLabels.compositionName) === composition;
  if (!carriesAll(revision.metadata.labels ?? {}, compositionLabels)) return false;
  return functionReferences(revision).some(
    ({ functionName, functionRevisionRef, function: image }) =>
      functions.includes(functionName) && functionRevisionRef === undefined && image === undefined,
  );
}

/** The facts of a composite resource that do not depend on a rollout. */
interface CompositeBasics {
  readonly uid: string;
  readonly key: ObjectKey;
  readonly isMovable: boolean;
  readonly isSynced: boolean;
  /** Whether the last reconcile saw the object as it is now. */
  readonly isCurrent: boolean;
  /** The function revisions that its status names. */
  readonly written: readonly string[];
}

const known = new WeakMap<KubeObject, CompositeBasics>();

/** Read once for each version of the object. */
function basicsOf(object: KubeObject): CompositeBasics {
  const found = known.get(object);
  if (found !== undefined) return found;
  const stored = objectsAt(object, ["status", "crossplane", "functionRevisions"]);
  const synced = conditionOf(conditionsOf(object), "Synced");
  const { generation = 0 } = object.metadata;
  const basics = {
    uid: object.metadata.uid ?? "",
    key: keyOf(object),
    isMovable: !isPaused(object),
    isSynced: synced.status === "True",
    isCurrent: (synced.observedGeneration ?? generation) >= generation,
    written: stored.map((one) => stringAt(one, ["functionRevision"])),
  };
  if (Object.isFrozen(object)) known.set(object, basics);
  return basics;
}

function rowOf(
  object: KubeObject,
  { controller, ref, collection }: { controller: string; ref: string | undefined; collection: Collection },
): CompositeRow {
  const { state, rolloutUid, buckets } = collection;
  const { uid, key, isMovable, isSynced, isCurrent, written } = basicsOf(object);
  const bucket = buckets.get(uid) ?? bucketOf(rolloutUid, uid);
  buckets.set(uid, bucket);
  const known = ref === undefined ? revisionsRun({ uid, written }, collection) : [ref];
  const isOnCandidate = state.frozen.some(({ candidate }) => candidate !== "" && known.includes(candidate));
  const observed = ref === undefined ? written : isCurrent ? [ref] : [];
  const isObserved = hasMoved(observed, state);
  return { object, uid, key, controller, bucket, isMovable, isSynced, isOnCandidate, isObserved };
}

/** Whether the candidate of each function ran, as far as the function is used. A step that is pinned to the stable revision does not count. */
function hasMoved(revisions: readonly string[], { frozen }: RolloutState): boolean {
  return (
    frozen.some(({ candidate }) => revisions.includes(candidate)) &&
    frozen.every(({ stable, candidate }) => revisions.includes(candidate) || !revisions.includes(stable))
  );
}

/** The function revisions that ran last: what this process saw, else what the status says. */
function revisionsRun(
  { uid, written }: Pick<CompositeBasics, "uid" | "written">,
  { state, samples }: Collection,
): readonly (string | undefined)[] {
  const seen = state.frozen.map(({ name }) => samples.lastRevision(name, uid));
  const isKnown = state.frozen.some(({ stable, candidate }) => seen.includes(stable) || seen.includes(candidate));
  // The status is written at the end of a reconcile: until then only this process knows.
  return isKnown ? seen : written;
}

/** Whether the rules place a composite resource on the candidate. */
export function belongsToCandidate(
  { object, bucket }: CompositeRow,
  { threshold, cohorts }: Pick<RolloutState, "threshold" | "cohorts">,
): boolean {
  if (threshold >= bucketCount || bucket < threshold) return true;
  const subject = { uid: "", labels: object.metadata.labels ?? {} };
  return isMember({ uid: "", threshold: 0, cohorts }, subject);
}

/** Numbers of the composite resources of a rollout. */
interface CompositeFacts {
  readonly numbers: CompositeNumbers;
  readonly lowestBucket: number | undefined;
  readonly members: readonly CompositeRow[];
  readonly moved: SideNumbers;
  readonly stayed: SideNumbers;
  /** Members whose status does not name the candidate yet. Those that fail for other reasons are not waited for. */
  readonly pendingMoves: number;
  /** Composite resources that are not members, and that the candidate ran for last, or whose status still says so. */
  readonly leftBehind: readonly CompositeRow[];
}

/** Counts composite resources. */
export function factsOf(rows: readonly CompositeRow[], state: RolloutState): CompositeFacts {
  const members = rows.filter((row) => belongsToCandidate(row, state));
  const isMemberRow = new Set(members);
  const others = rows.filter((row) => !isMemberRow.has(row));
  const healthy = members.filter(({ isSynced }) => isSynced).length;
  return {
    numbers: {
      total: rows.length,
      candidate: members.length,
      moved: rows.filter(({ isOnCandidate }) => isOnCandidate).length,
      healthy,
      unhealthy: members.length - healthy,
    },
    lowestBucket:
      rows.length === 0 ? undefined : rows.reduce((least, { bucket }) => Math.min(least, bucket), bucketCount),
    members,
    moved: sideOf(members),
    stayed: sideOf(others),
    pendingMoves: members.filter((row) => row.isMovable && row.isSynced && !(row.isOnCandidate && row.isObserved))
      .length,
    leftBehind: others.filter((row) => row.isMovable && (row.isOnCandidate || (row.isSynced && row.isObserved))),
  };
}

function sideOf(rows: readonly CompositeRow[]): SideNumbers {
  const movable = rows.filter(({ isMovable }) => isMovable);
  return {
    total: movable.length,
    has: (condition, status) =>
      movable.filter(({ object }) => conditionOf(conditionsOf(object), condition).status === status).length,
  };
}
