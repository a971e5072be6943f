// SPDX-License-Identifier: Apache-2.0
import type { CacheChange } from "@purlin/kube-client/objects";
import { attempt, type ControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  type ConditionText,
  controllerReference,
  isControlledBy,
  isDeleted,
  type KubeObject,
  keyOf,
  labelOf,
  type ObjectKey,
  objectAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { conditions, kinds } from "./names.ts";
import { isSameRequest } from "./operation/operation-status.ts";

interface OwnerOptions {
  /** The label with the name of the owner. */
  readonly label: string;
  readonly owner: KubeObject;
  readonly signal: AbortSignal;
}

/** The Operations that a CronOperation or WatchOperation created, without those that are being deleted. */
export async function ownedOperations(
  client: Pick<ControllerClient, "list">,
  { label, owner, signal }: OwnerOptions,
): Promise<readonly KubeObject[]> {
  const found = await client.list(kinds.operation, { labels: { [label]: owner.metadata.name ?? "" }, signal });
  return found.filter((operation) => isControlledBy(operation, owner.metadata.uid) && !isDeleted(operation));
}

/** The key of a CronOperation or WatchOperation that changed. One of which only the status changed has been reconciled already. */
export function wokenOwner(change: CacheChange): readonly ObjectKey[] {
  const { object } = change;
  const isKnown = change.type === "updated" && isSameRequest(change.previous, object) && !isDeleted(object);
  return isKnown ? [] : [keyOf(object)];
}

/** The owner of an Operation, by its label. */
export function ownedKeys(operation: KubeObject, label: string): readonly ObjectKey[] {
  const name = labelOf(operation, label);
  return name === undefined ? [] : [{ name }];
}

/** Deletes an Operation: one beyond the history, or one that runs and is replaced. */
export async function deleteOperation(
  client: Pick<ControllerClient, "delete">,
  operation: KubeObject,
  { why, signal }: { readonly why: "history" | "replace"; readonly signal: AbortSignal },
): Promise<void> {
  const { name = "", uid = "" } = operation.metadata;
  const step =
    why === "history"
      ? { reason: "GarbageCollectOperations", text: `cannot garbage collect Operation "${name}"` }
      : { reason: "ReplaceRunningOperation", text: `cannot delete running Operation "${name}"` };
  const options = { preconditions: { uid }, propagationPolicy: "Background", signal } as const;
  await attempt(step, () => ignoreNotFound(client.delete({ ...kinds.operation, name }, options)));
}

/** The most running Operations that a status lists: with concurrencyPolicy Allow, more can run than one object can list. */
const listedLimit = 100;

interface Running {
  /** The names of the Operations that run, those to list first. */
  readonly names: readonly string[];
  /** The label with the name of the owner. */
  readonly label: string;
}

/** The references to running Operations in the status of their owner; undefined if none runs. */
export function runningRefs(names: readonly string[]): readonly JsonObject[] | undefined {
  return names.length === 0 ? undefined : names.slice(0, listedLimit).map((name) => ({ name }));
}

/** The condition of an owner whose reconcile succeeded. It says when more Operations run than its status lists. */
export function syncedWith(owner: KubeObject, { names, label }: Running): ConditionText {
  if (names.length <= listedLimit) return conditions.synced;
  const all = `kubectl get operations -l ${label}=${owner.metadata.name}`;
  const message = `more than ${listedLimit} Operations run at the same time, and status.runningOperationRefs lists ${listedLimit} of them: list all with "${all}"; to run one at a time, set spec.concurrencyPolicy to Forbid or Replace`;
  return { ...conditions.synced, message };
}

interface NewOperation {
  readonly name: string;
  readonly label: string;
  readonly annotations: Readonly<Record<string, string>>;
  /** Changes the spec of the template. */
  readonly spec?: ((spec: JsonObject) => JsonObject) | undefined;
}

/** An Operation by the template of its owner, with the labels and annotations of the template. */
export function newOperation(
  owner: KubeObject,
  { name, label, annotations, spec = (one) => one }: NewOperation,
): KubeObject {
  const template = objectAt(owner, ["spec", "operationTemplate"]);
  return {
    ...kinds.operation,
    metadata: {
      name,
      labels: { ...textMapAt(template, ["metadata", "labels"]), [label]: owner.metadata.name ?? "" },
      annotations: { ...textMapAt(template, ["metadata", "annotations"]), ...annotations },
      ownerReferences: [controllerReference(owner)],
    },
    spec: spec(objectAt(template, ["spec"])),
  };
}
