// SPDX-License-Identifier: Apache-2.0
// Facts about single objects, read from their fields.
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import {
  type Condition,
  conditionsOf,
  groupOf,
  humanDuration,
  type KubeObject,
  keyText,
  memberAt,
  objectAt,
  objectsAt,
  stringAt,
} from "@purlin/kube-objects/object";
import type { Evidence, ObjectRef } from "../model/explanation.ts";

/** An object in messages: `App default/web`. */
export function refText({ kind, name, namespace }: Pick<ObjectRef, "kind" | "name" | "namespace">): string {
  return `${kind} ${keyText({ name, namespace })}`;
}

/** The reference to an object. */
export function refOf({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  const { name = "", namespace } = metadata;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** An object as an argument of a command: `app/web -n default`. */
export function argumentOf({ apiVersion, kind, name, namespace }: ObjectRef): string {
  const group = groupOf(apiVersion);
  const type = group === "" ? kind.toLowerCase() : `${kind.toLowerCase()}.${group}`;
  return `${type}/${name}${namespace === undefined ? "" : ` -n ${namespace}`}`;
}

/** A condition of an object; undefined when it is absent. */
export function condition(object: KubeObject, type: string): Condition | undefined {
  return conditionsOf(object).find((one) => one.type === type);
}

/** A condition that is there and not True. */
export function unmet(object: KubeObject, type: string): Condition | undefined {
  const found = condition(object, type);
  return found !== undefined && found.status !== "True" ? found : undefined;
}

/** Whether a condition is True. */
export function isTrue(object: KubeObject, type: string): boolean {
  return condition(object, type)?.status === "True";
}

/** A condition as evidence. */
export function conditionEvidence(object: KubeObject, one: Condition): Evidence {
  const text = [`${one.type}=${one.status}`, one.reason, one.message ?? ""].filter((part) => part !== "").join(": ");
  return {
    object: refText(refOf(object)),
    path: `status.conditions[${one.type}]`,
    time: one.lastTransitionTime || undefined,
    text,
  };
}

/** A field as evidence. */
export function fieldEvidence(object: KubeObject, path: string, text: string): Evidence {
  return { object: refText(refOf(object)), path, text };
}

/** Milliseconds since a time; undefined without a valid one. */
export function elapsed(time: string | null | undefined, now: number): number | undefined {
  const at = Date.parse(time ?? "");
  return Number.isNaN(at) ? undefined : now - at;
}

/** The age of an object in milliseconds. */
export function ageMs({ metadata }: KubeObject, now: number): number {
  return elapsed(metadata.creationTimestamp, now) ?? 0;
}

/** The manager of references to composed resources: they do not change what is wanted. */
const referencesManager = "apiextensions.crossplane.io/composite";

/**
 * How long a ready object took to become ready: since it was created, or since the last change of its spec before that. Each generation
 * sets the time of the condition again, so an old object that is edited would seem to have taken its whole age.
 */
export function timeToReadyMs(object: KubeObject): number | undefined {
  const ready = condition(object, "Ready");
  const to = Date.parse(ready?.lastTransitionTime ?? "");
  const changes = specWrites(object)
    .filter(({ manager }) => manager !== referencesManager)
    .map(({ time }) => Date.parse(time ?? ""));
  const created = Date.parse(object.metadata.creationTimestamp ?? "");
  const from = Math.max(created, ...changes.filter((time) => time <= to));
  return ready?.status === "True" && Number.isFinite(to - from) ? Math.max(0, to - from) : undefined;
}

/** A time in messages: `4m ago`. */
export function ago(time: string | null | undefined, now: number): string {
  const ms = elapsed(time, now);
  return ms === undefined ? "at an unknown time" : `${humanDuration(Math.max(0, ms))} ago`;
}

/** A field of the control plane in a composite resource: below `spec.crossplane`, or in old XRs below `spec`. */
export function crossplaneField(xr: KubeObject, ...path: readonly string[]): JsonValue | undefined {
  return memberAt(xr, ["spec", "crossplane", ...path]) ?? memberAt(xr, ["spec", ...path]);
}

/** The name in a reference of the control plane, such as `compositionRef`. */
export function crossplaneName(xr: KubeObject, field: string): string | undefined {
  const name = crossplaneField(xr, field, "name");
  return typeof name === "string" && name !== "" ? name : undefined;
}

/** The labels that a selector of the control plane requires. */
export function crossplaneSelector(xr: KubeObject, field: string): Readonly<Record<string, string>> | undefined {
  const labels = crossplaneField(xr, field, "matchLabels");
  return isJsonObject(labels) ? (labels as Readonly<Record<string, string>>) : undefined;
}

/** Labels in messages: `tier=gold, zone=a`. */
export function labelsText(labels: Readonly<Record<string, string>>): string {
  return Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key] ?? ""}`)
    .join(", ");
}

/** Whether an object has all these labels. */
export function hasLabels({ metadata }: KubeObject, labels: Readonly<Record<string, string>>): boolean {
  return Object.entries(labels).every(([key, value]) => metadata.labels?.[key] === value);
}

/** The references of an XR to its composed resources. */
export function composedRefs(xr: KubeObject): ObjectRef[] {
  const refs = [...objectsAt(xr, ["spec", "crossplane", "resourceRefs"]), ...objectsAt(xr, ["spec", "resourceRefs"])];
  return refs.flatMap((ref) => toRef(ref, xr.metadata.namespace) ?? []);
}

/** The reference of a claim to its composite resource; undefined while it has none. */
export function claimedRef(claim: KubeObject): ObjectRef | undefined {
  const ref = memberAt(claim, ["spec", "resourceRef"]);
  return isJsonObject(ref) ? toRef(ref) : undefined;
}

/** What an object refers to: a claim its composite resource, a composite resource what it composes. */
export function referencesOf(object: KubeObject): ObjectRef[] {
  const claimed = claimedRef(object);
  return claimed === undefined ? composedRefs(object) : [claimed];
}

/** The function revisions that last composed a composite resource, without duplicates; empty if they are not recorded. */
export function functionRevisionsOf(object: KubeObject): readonly string[] {
  const used = objectsAt(object, ["status", "crossplane", "functionRevisions"]);
  return [...new Set(used.map((one) => stringAt(one, ["functionRevision"])).filter((name) => name !== ""))];
}

/** A reference in a field; undefined when it is incomplete. */
function toRef(value: JsonObject, ownNamespace?: string): ObjectRef | undefined {
  const [apiVersion, kind, name] = ["apiVersion", "kind", "name"].map((key) => stringAt(value, [key]));
  if (!apiVersion || !kind || !name) return undefined;
  const namespace = stringAt(value, ["namespace"]) || ownNamespace;
  return { apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

const resourceNameAnnotation = "crossplane.io/composition-resource-name";

/** The name of a composed resource in its pipeline. */
export function resourceName({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.[resourceNameAnnotation];
}

/** When the spec of an object was last changed, by its managed fields. */
export function specChangedAt(object: KubeObject): string | undefined {
  const times = specWrites(object).map(({ time = "" }) => time);
  return times.sort().at(-1) ?? object.metadata.creationTimestamp ?? undefined;
}

/** The managed fields of those that wrote the spec. */
function specWrites({ metadata }: KubeObject) {
  return (metadata.managedFields ?? [])
    .filter(({ subresource, fieldsV1 }) => !subresource && isJsonObject(objectAt(fieldsV1 ?? {}, ["f:spec"])))
    .filter(({ fieldsV1 }) => Object.hasOwn(fieldsV1 ?? {}, "f:spec"));
}

/** The first elements of a list in messages, and how many more there are. */
export function listed(names: readonly string[], most = 5): string {
  if (names.length === 0) return "none";
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** The text that is nearest to a wanted one, by edit distance; undefined when none is near. */
export function nearest(wanted: string, texts: readonly string[]): string | undefined {
  const ranked = texts
    .map((text) => ({ text, distance: editDistance(wanted.toLowerCase(), text.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance || (a.text < b.text ? -1 : 1));
  const [best] = ranked;
  return best !== undefined && best.distance <= Math.max(2, wanted.length / 3) ? best.text : undefined;
}

const longest = 128;

function editDistance(a: string, b: string): number {
  const [one, other] = [a.slice(0, longest), b.slice(0, longest)];
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i++) {
    const next = [i];
    for (let j = 1; j <= other.length; j++) {
      const cost = one[i - 1] === other[j - 1] ? 0 : 1;
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + cost));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}
