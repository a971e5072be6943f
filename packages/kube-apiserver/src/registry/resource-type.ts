// SPDX-License-Identifier: Apache-2.0
import type { ResourceName } from "@purlin/kube-objects/errors";
import type { NameRule } from "@purlin/kube-objects/metadata";
import { formatApiVersion, type GroupVersionKind } from "@purlin/kube-objects/object";

/** A way to reach a part of an object: `status`, `scale`, `token`. */
export interface Subresource {
  readonly name: string;
  readonly verbs: readonly string[];
  /** The kind it speaks, if that is not the resource's own. */
  readonly kind?: GroupVersionKind;
}

/** How objects of a type are written; where types differ, and nothing else. */
export interface WriteRules {
  readonly name: NameRule;
  /** PUT creates what is not there. */
  readonly createOnUpdate: boolean;
  /** PUT may leave out the resourceVersion. */
  readonly unconditionalUpdate: boolean;
  /** What counts as a change of specification; undefined: the type has no generation. `changed-spec`: new objects have none. */
  readonly generation: "spec" | "spec-and-annotations" | "outside-metadata" | "changed-spec" | undefined;
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeleted: boolean;
  /** Deleting without a policy leaves dependents alone. */
  readonly orphansByDefault: boolean;
  /** Seconds until an object is deleted by itself. */
  readonly ttlSeconds: number | undefined;
}

/** One resource in one version, as it is served. */
export interface ResourceType {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** The plural. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Subresources that clusters have and this server does not: what they do, for the answer to a request for one. */
  readonly unserved?: Readonly<Record<string, string>>;
  /** Defined by a CustomResourceDefinition. */
  readonly custom: boolean;
  /** Discovery lists groups of a higher priority first. */
  readonly groupPriority: number;
  /** Whose objects these are: another group of the same objects shares it. */
  readonly storage: ResourceName & { readonly version: string };
  readonly rules: WriteRules;
}

/** The apiVersion of its objects. */
export function apiVersionOf(type: ResourceType): string {
  return formatApiVersion(type);
}

/** Whether the type has the subresource. */
export function hasSubresource(type: ResourceType, name: string): boolean {
  return type.subresources.some((subresource) => subresource.name === name);
}

/** What the keys of all objects of a type begin with; with a namespace, of those in it. */
export function keyPrefix({ storage, namespaced }: ResourceType, namespace: string): string {
  const root = `/${storage.group}/${storage.resource}/`;
  return namespaced && namespace !== "" ? `${root}${namespace}/` : root;
}

/** The key of one object. */
export function objectKey(type: ResourceType, namespace: string, name: string): string {
  return `${keyPrefix(type, namespace)}${name}`;
}

/** The key of the one object a list or watch can be about: when it names one, and where. */
export function oneKey(
  type: ResourceType,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string | undefined {
  const isOne = name !== "" && (!type.namespaced || namespace !== "");
  return isOne ? objectKey(type, namespace, name) : undefined;
}
