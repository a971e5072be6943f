// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "../json/json-value.ts";
import type { ObjectMeta } from "./object-meta.ts";

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
