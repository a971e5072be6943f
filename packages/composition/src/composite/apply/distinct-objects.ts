// SPDX-License-Identifier: Apache-2.0

import type { KubeObject } from "@purlin/kube-client/objects";
import { gvkOf } from "@purlin/kube-objects";
import { kindAndName } from "../observe/observe.ts";

/** Throws when two resources of one pipeline are the same object: each apply would undo the other, for ever. */
export function requireDistinct(resources: readonly { readonly name: string; readonly object: KubeObject }[]): void {
  const names = new Map<string, string>();
  for (const { name, object } of resources) {
    const { group, kind } = gvkOf(object);
    const { namespace = "", name: objectName = "" } = object.metadata;
    const key = JSON.stringify([group, kind, namespace, objectName]);
    const other = names.get(key);
    if (other !== undefined) throw sameObject(other, name, object);
    names.set(key, name);
  }
}

function sameObject(one: string, other: string, object: KubeObject): Error {
  const what = `composed resources "${one}" and "${other}" are the same object ${kindAndName(object)}`;
  return new Error(`${what}: give one of them another metadata.name`);
}
