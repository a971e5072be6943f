// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, isNumber, type JsonObject, type JsonValue, ownValue, withOwnValue } from "../json/json-value.ts";

/** The type of an object, as manifests name it. */
export type TypeRef = {
  readonly apiVersion: string;
  readonly kind: string;
};

/** Which object of a type. The namespace is absent for cluster-scoped ones. */
export interface ObjectKey {
  readonly namespace?: string | undefined;
  readonly name: string;
}

/**
 * Any Kubernetes object: a JSON object with a type and metadata, so that it can be passed wherever JSON is expected. Objects from a client
 * or a cache are frozen: copy before you change them.
 */
export type KubeObject = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
  readonly [field: string]: JsonValue;
};

/** A list of objects and where it was taken. */
export interface KubeList {
  readonly items: readonly KubeObject[];
  readonly resourceVersion: string;
  readonly continue?: string | undefined;
  readonly remainingItemCount?: number | undefined;
}

/** One event of a watch. */
export type WatchEvent =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }
  | { readonly type: "BOOKMARK"; readonly resourceVersion: string; readonly initialEventsEnd: boolean };

/** The key of an object as one text: `namespace/name`, or the bare name. */
export function keyText({ namespace, name }: ObjectKey): string {
  return namespace ? `${namespace}/${name}` : name;
}

/** The key of an object. */
export function keyOf(object: KubeObject): ObjectKey {
  const { name = "", namespace } = object.metadata;
  return namespace ? { namespace, name } : { name };
}

/** Freezes a JSON value all the way down and returns it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  for (const member of Object.values(value)) deepFreeze(member);
  return Object.freeze(value);
}

/** One reference of a dependent to an owner. */
export type OwnerReference = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
};

/** Who set which fields, with which operation, at which version. */
export type ManagedFieldsEntry = {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonObject;
  readonly subresource?: string;
};

/** The metadata every Kubernetes object has. Everything may be absent in an object under construction. */
export type ObjectMeta = {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string | null;
  readonly deletionGracePeriodSeconds?: number | null;
  readonly labels?: Readonly<Record<string, string>> | null;
  readonly annotations?: Readonly<Record<string, string>> | null;
  readonly ownerReferences?: readonly OwnerReference[] | null;
  readonly finalizers?: readonly string[] | null;
  readonly managedFields?: readonly ManagedFieldsEntry[] | null;
  readonly selfLink?: string;
};

/** An API group and one of its versions. The core group is the empty string. */
export type GroupVersion = {
  readonly group: string;
  readonly version: string;
};

/** The type of a Kubernetes object. */
export type GroupVersionKind = GroupVersion & {
  readonly kind: string;
};

/**
 * Reads an `apiVersion`: `v1` is the core group, `apps/v1` names its group, the empty string is the core group without
 * a version. Two or more slashes throw, in the words of the reference server.
 */
export function parseApiVersion(apiVersion: string): GroupVersion {
  if (apiVersion === "" || apiVersion === "/") return { group: "", version: "" };
  const parts = apiVersion.split("/");
  const [first = "", second] = parts;
  if (parts.length > 2) throw new Error(`unexpected GroupVersion string: ${apiVersion}`);
  return second === undefined ? { group: "", version: first } : { group: first, version: second };
}

/** The group of an `apiVersion`, malformed ones included; empty for the core group. */
export function groupOf(apiVersion: string): string {
  const end = apiVersion.indexOf("/");
  return end < 0 ? "" : apiVersion.slice(0, end);
}

/** Writes an `apiVersion`; the opposite of {@link parseApiVersion}. */
export function formatApiVersion({ group, version }: GroupVersion): string {
  return group === "" ? version : `${group}/${version}`;
}

/**
 * The type of an object, read from its `apiVersion` and `kind`. Throws, naming the field, when one is missing or not a
 * non-empty string.
 */
export function gvkOf(object: { readonly apiVersion?: unknown; readonly kind?: unknown }): GroupVersionKind {
  const { apiVersion, kind } = object;
  if (typeof apiVersion !== "string" || apiVersion === "") throw new Error("object has no apiVersion");
  if (typeof kind !== "string" || kind === "") throw new Error("object has no kind");
  return { ...parseApiVersion(apiVersion), kind };
}

/** One line for messages, as Kubernetes prints types: `apps/v1, Kind=Deployment`. */
export function formatGvk(gvk: GroupVersionKind): string {
  return `${formatApiVersion(gvk)}, Kind=${gvk.kind}`;
}

/** Whether two types are the same. */
export function equalGvk(a: GroupVersionKind, b: GroupVersionKind): boolean {
  return a.kind === b.kind && a.version === b.version && a.group === b.group;
}

/** A path of member names, such as `["metadata", "labels"]`. */
type MemberPath = readonly string[];

/** The value at a path. Undefined when a member on the path is missing or is not an object. */
export function memberAt(object: object, path: MemberPath): JsonValue | undefined {
  let value: unknown = object;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = ownValue(value, key);
  }
  return value as JsonValue | undefined;
}

/** The object at a path; an empty object when it is missing. */
export function objectAt(object: object, path: MemberPath): JsonObject {
  return optionalObjectAt(object, path) ?? {};
}

/** The object at a path; undefined when it is missing. */
export function optionalObjectAt(object: object, path: MemberPath): JsonObject | undefined {
  const value = memberAt(object, path);
  return isJsonObject(value) ? value : undefined;
}

/** The objects in the list at a path. Other items are left out. */
export function objectsAt(object: object, path: MemberPath): JsonObject[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The string at a path; undefined when it is missing or empty. */
export function textAt(object: object, path: MemberPath): string | undefined {
  return stringAt(object, path) || undefined;
}

/** The string at a path; the empty string when it is missing. */
export function stringAt(object: object, path: MemberPath): string {
  const value = memberAt(object, path);
  return typeof value === "string" ? value : "";
}

/** The strings in the list at a path. Other items are left out. */
export function textsAt(object: object, path: MemberPath): string[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The map of strings at a path; undefined when it is missing. */
export function textMapAt(object: object, path: MemberPath): Readonly<Record<string, string>> | undefined {
  return optionalObjectAt(object, path) as Readonly<Record<string, string>> | undefined;
}

/** The number at a path; 0 when it is missing. An integer beyond ±2^53 becomes the nearest double. */
export function numberAt(object: object, path: MemberPath): number {
  const value = memberAt(object, path);
  return isNumber(value) ? Number(value) : 0;
}

/**
 * A copy of the object with a value at a path; undefined removes the member. Missing objects on the path are created. Members off the path
 * are shared with the original, and the original itself is returned when nothing changes.
 */
export function withMember<T extends JsonObject>(object: T, path: MemberPath, value: JsonValue | undefined): T {
  return changeMember(object, path, value) as T;
}

function changeMember(object: JsonObject, path: MemberPath, value: JsonValue | undefined): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return object;
  if (rest.length === 0) return setMember(object, key, value);
  const inner = ownValue(object, key);
  if (value === undefined && !isJsonObject(inner)) return object;
  const changed = changeMember(isJsonObject(inner) ? inner : {}, rest, value);
  return changed === inner ? object : withOwnValue(object, key, changed);
}

function setMember(object: JsonObject, key: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return ownValue(object, key) === value ? object : withOwnValue(object, key, value);
  if (!Object.hasOwn(object, key)) return object;
  const { [key]: _removed, ...rest } = object;
  return rest;
}
