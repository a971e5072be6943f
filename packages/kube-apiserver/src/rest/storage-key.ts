// SPDX-License-Identifier: Apache-2.0
import type { ResourceType } from "../registry/resource-type.ts";

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
