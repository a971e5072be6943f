// SPDX-License-Identifier: Apache-2.0

import { parseApiVersion } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";
import { kindAndName } from "../observe/observe.ts";
import type { Refuse } from "./decode-desired.ts";

/**
 * Refuses two resources of one pipeline that are the same object, as each apply would undo the other for ever, and one
 * that is the XR itself, which would be deleted as soon as its function no longer wants it.
 */
export function requireDistinct(
  resources: readonly { readonly name: string; readonly object: KubeObject }[],
  xr: KubeObject,
  refuse: Refuse,
): void {
  const names = new Map<string, string>();
  const own = identityOf(xr);
  for (const { name, object } of resources) {
    const identity = identityOf(object);
    if (identity === own) refuse(itself(name, object));
    const other = names.get(identity);
    if (other !== undefined) refuse(sameObject(other, name, object));
    names.set(identity, name);
  }
}

function identityOf(object: KubeObject): string {
  const { apiVersion, kind, metadata } = object;
  const { namespace = "", name = "" } = metadata;
  return JSON.stringify([parseApiVersion(apiVersion).group, kind, namespace, name]);
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
