// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { parseApiVersion } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";
import { fieldManagers } from "./constants.ts";

/**
 * The manager of the fields a composite resource sets on what it composes: one for each name and kind of composite
 * resource, so that two of them never fight unnoticed for one object.
 */
export function composedFieldManager({ apiVersion, kind, metadata }: KubeObject): string {
  const { group } = parseApiVersion(apiVersion);
  const groupKind = group === "" ? kind : `${kind}.${group}`;
  const hash = createHash("sha256")
    .update(`${metadata.name ?? ""}${groupKind}`)
    .digest("hex");
  return `${fieldManagers.composedPrefix}/${hash}`;
}
