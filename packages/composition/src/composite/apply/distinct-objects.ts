// SPDX-License-Identifier: Apache-2.0

import type { KubeObject } from "@purlin/kube-client/objects";
import { gvkOf } from "@purlin/kube-objects";
import { kindAndName } from "../observe/observe.ts";

/**
 * Throws when two resources of one pipeline are the same object, as each apply would undo the other for ever, or when one
 * is the XR itself, which would be deleted as soon as its function no longer wants it.
 */
export function requireDistinct(
  resources: readonly { readonly name: string; readonly object: KubeObject }[],
  xr: KubeObject,
): void {
  const names = new Map<string, string>();
  const own = identityOf(xr);
  for (const { name, object } of resources) {
    const identity = identityOf(object);
    if (identity === own) throw itself(name, object);
    const other = names.get(identity);
    if (other !== undefined) throw sameObject(other, name, object);
    names.set(identity, name);
  }
}

function identityOf(object: KubeObject): string {
  const { group, kind } = gvkOf(object);
  const { namespace = "", name = "" } = object.metadata;
  return JSON.stringify([group, kind, namespace, name]);
}

function itself(name: string, object: KubeObject): Error {
  return new Error(
    `composed resource "${name}" is the composite resource itself ${kindAndName(object)}: give it another metadata.name`,
  );
}

function sameObject(one: string, other: string, object: KubeObject): Error {
  const what = `composed resources "${one}" and "${other}" are the same object ${kindAndName(object)}`;
  return new Error(`${what}: give one of them another metadata.name`);
}
