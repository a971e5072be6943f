// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, InformerPool } from "@purlin/kube-client";
import type { WatchSpec } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import {
  type Condition,
  conditionTime,
  controllerOf,
  controllerReference,
  isDeleted,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type TypeRef,
} from "@purlin/kube-objects/object";
import { fieldManager, type SimulatorDeps } from "../simulator-deps.ts";
import { filterInTurns, selecting, selects } from "./selection.ts";

/**
 * The objects of a type that a workload controls. Objects whose labels no longer match are released, and matching ones without a
 * controller are adopted, unless the workload is being deleted.
 */
export async function claimChildren(
  deps: Pick<SimulatorDeps, "client">,
  owner: KubeObject,
  type: TypeRef,
): Promise<readonly KubeObject[]> {
  const { client } = deps;
  const { namespace, uid = "" } = owner.metadata;
  const owned = await client.list(type, { namespace, controller: uid });
  if (isDeleted(owner)) return owned;
  const orphans = await client.list(type, { namespace, controller: "" });
  const adoptable = (await filterInTurns(orphans, (one) => selects(owner, one))).filter((one) => !isDeleted(one));
  const kept = new Set(await filterInTurns(owned, (one) => selects(owner, one)));
  const released = owned.filter((one) => !kept.has(one));
  await Promise.all(released.map((object) => setOwners(deps, object, withoutController(object))));
  const adopted = await Promise.all(
    adoptable.map((object) =>
      setOwners(deps, object, [...(object.metadata.ownerReferences ?? []), controllerReference(owner)]),
    ),
  );
  return [...kept, ...adopted.filter((object) => object !== undefined)];
}

function withoutController({ metadata }: KubeObject): KubeObject["metadata"]["ownerReferences"] {
  return (metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true);
}

async function setOwners(
  { client }: Pick<SimulatorDeps, "client">,
  object: KubeObject,
  ownerReferences: KubeObject["metadata"]["ownerReferences"],
): Promise<KubeObject | undefined> {
  const { uid, resourceVersion } = object.metadata;
  const patch = {
    metadata: { uid: uid ?? "", resourceVersion: resourceVersion ?? "", ownerReferences: ownerReferences ?? [] },
  };
  const { apiVersion, kind } = object;
  return ignoreNotFound(client.patch({ apiVersion, kind, ...keyOf(object) }, patch, { type: "merge", fieldManager }));
}

const namespaceIndex = "namespace";

/** The objects of a type in a namespace, as its informer has them. */
export function listNamespace(informers: InformerPool, type: TypeRef, namespace: string): readonly KubeObject[] {
  const informer = informers.peek(type);
  if (informer === undefined) return [];
  informer.addIndex(namespaceIndex, ({ metadata }) => [metadata.namespace ?? ""]);
  return informer.byIndex(namespaceIndex, namespace);
}

/** Wakes the owner of a dependent that changes, and the workloads that may adopt one without an owner. */
export function watchDependents(informers: InformerPool, owner: TypeRef, dependent: TypeRef): WatchSpec {
  const ownerKeys = (object: KubeObject): Iterable<ObjectKey | undefined> => {
    const { namespace } = object.metadata;
    const controller = controllerOf(object);
    if (controller === undefined) return selecting(listNamespace(informers, owner, namespace ?? ""), [object]);
    const isOurs = controller.kind === owner.kind && controller.apiVersion === owner.apiVersion;
    return isOurs ? [{ namespace, name: controller.name }] : [];
  };
  function* keys(change: CacheChange): Iterable<ObjectKey | undefined> {
    yield* ownerKeys(change.object);
    if (change.type === "updated") yield* ownerKeys(change.previous);
  }
  return { type: `Dependent${dependent.kind}`, object: dependent, keys };
}

/** The members that are set: zero, empty and absent ones are left out, as Go leaves them out of JSON. */
export function withoutEmpty(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const isSet = ([, value]: readonly [string, JsonValue | undefined]): boolean =>
    value !== undefined && value !== 0 && value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(isSet)) as JsonObject;
}

/** What a controller says in a condition of a workload. */
export interface ConditionClaim {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason: string;
  readonly message: string;
}

/** A condition as Deployments have it: with the time of its last update. */
export type UpdatedCondition = Condition & { readonly lastUpdateTime?: string };

/**
 * Sets a condition as the workload controllers do: one with the same status and reason stays as it is, whatever its message; a new one goes to
 * the end, and keeps the time of its transition when only the reason changed.
 */
export function setCondition(
  conditions: readonly UpdatedCondition[],
  claim: ConditionClaim,
  { now, hasUpdateTime = false }: { readonly now: number; readonly hasUpdateTime?: boolean },
): readonly UpdatedCondition[] {
  const current = conditions.find(({ type }) => type === claim.type);
  if (current?.status === claim.status && current.reason === claim.reason) return conditions;
  const time = conditionTime(now);
  const lastTransitionTime = current?.status === claim.status ? current.lastTransitionTime : time;
  const condition = { ...claim, ...(hasUpdateTime && { lastUpdateTime: time }), lastTransitionTime };
  return [...withoutCondition(conditions, claim.type), condition];
}

/** The conditions without those of a type. */
export function withoutCondition<T extends Condition>(conditions: readonly T[], type: string): readonly T[] {
  return conditions.some((one) => one.type === type) ? conditions.filter((one) => one.type !== type) : conditions;
}
