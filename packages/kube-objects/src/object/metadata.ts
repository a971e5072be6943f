// SPDX-License-Identifier: Apache-2.0
import { type KubeObject, type OwnerReference, textAt, withMember } from "./kube-object.ts";

/** The annotation in which `kubectl apply` stores what it applied. */
export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Only the value `true` pauses. */
const pausedAnnotation = "crossplane.io/paused";

/** A label of an object. An empty one counts as absent. */
export function labelOf(object: object, name: string): string | undefined {
  return textAt(object, ["metadata", "labels", name]);
}

/** An annotation of an object. An empty one counts as absent. */
export function annotationOf(object: object, name: string): string | undefined {
  return textAt(object, ["metadata", "annotations", name]);
}

/** Whether the object is paused. Only the value `true` of the annotation pauses it. */
export function isPaused(object: object): boolean {
  return annotationOf(object, pausedAnnotation) === "true";
}

/** Whether the object is on its way out. */
export function isDeleted({ metadata }: KubeObject): boolean {
  return typeof metadata.deletionTimestamp === "string";
}

/** Whether the object carries a finalizer. */
export function hasFinalizer({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.finalizers?.includes(finalizer) ?? false;
}

/** The object with a finalizer; itself when it has it. */
export function withFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  if (hasFinalizer(object, finalizer)) return object;
  return withMember(object, ["metadata", "finalizers"], [...(object.metadata.finalizers ?? []), finalizer]);
}

/** The object without a finalizer; itself when it has none of that name. */
export function withoutFinalizer<T extends KubeObject>(object: T, finalizer: string): T {
  if (!hasFinalizer(object, finalizer)) return object;
  const rest = (object.metadata.finalizers ?? []).filter((name) => name !== finalizer);
  return withMember(object, ["metadata", "finalizers"], rest.length > 0 ? rest : undefined);
}

/** The owner that controls the object, if it has one. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Whether the object is controlled by the owner of this uid. */
export function isControlledBy(object: KubeObject, uid: string | undefined): boolean {
  return uid !== undefined && uid !== "" && controllerOf(object)?.uid === uid;
}

/** A reference that makes the owner the object's controller and lets a foreground deletion wait for the object. */
export function controllerReference(owner: KubeObject): OwnerReference {
  const { apiVersion, kind, metadata } = owner;
  return {
    apiVersion,
    kind,
    name: metadata.name ?? "",
    uid: metadata.uid ?? "",
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * The object with one more owner: it takes the place of a reference with the same uid, or goes to the end. Throws when
 * it is a controller and another one controls the object.
 */
export function withOwner<T extends KubeObject>(object: T, owner: OwnerReference): T {
  const controller = controllerOf(object);
  if (owner.controller === true && controller !== undefined && controller.uid !== owner.uid) {
    const { kind, name, uid } = controller;
    throw new Error(`${object.metadata.name || "it"} is already controlled by ${kind} ${name} (UID ${uid})`);
  }
  const owners = object.metadata.ownerReferences ?? [];
  const index = owners.findIndex(({ uid }) => uid === owner.uid);
  const changed = index < 0 ? [...owners, owner] : owners.with(index, owner);
  return withMember(object, ["metadata", "ownerReferences"], changed);
}

const second = 1;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** A duration the way kubectl shows ages: few digits, coarser the longer it is. */
export function humanDuration(milliseconds: number): string {
  const seconds = Math.trunc(milliseconds / 1000);
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * minute) return `${seconds}s`;
  if (seconds < 10 * minute) return withRest(seconds, { unit: minute, name: "m", rest: second, restName: "s" });
  if (seconds < 3 * hour) return `${Math.floor(seconds / minute)}m`;
  if (seconds < 8 * hour) return withRest(seconds, { unit: hour, name: "h", rest: minute, restName: "m" });
  if (seconds < 48 * hour) return `${Math.floor(seconds / hour)}h`;
  if (seconds < 8 * day) return withRest(seconds, { unit: day, name: "d", rest: hour, restName: "h" });
  if (seconds < 2 * year) return `${Math.floor(seconds / day)}d`;
  if (seconds < 8 * year) return withRest(seconds, { unit: year, name: "y", rest: day, restName: "d" });
  return `${Math.floor(seconds / year)}y`;
}

interface Units {
  readonly unit: number;
  readonly name: string;
  readonly rest: number;
  readonly restName: string;
}

function withRest(seconds: number, { unit, name, rest, restName }: Units): string {
  const left = Math.floor((seconds % unit) / rest);
  return `${Math.floor(seconds / unit)}${name}${left === 0 ? "" : `${left}${restName}`}`;
}

/** The age of a timestamp: `<unknown>` without a timestamp, `<invalid>` when it is not a time. */
export function ageOf(timestamp: unknown, now: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === "") return "<unknown>";
  const time = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(time) ? "<invalid>" : humanDuration(now - time);
}
