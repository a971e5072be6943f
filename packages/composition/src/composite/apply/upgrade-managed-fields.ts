// SPDX-License-Identifier: Apache-2.0

import type { ControllerClient } from "@purlin/kube-controller";
import { ignoreNotFound, type JsonValue } from "@purlin/kube-objects";
import { type KubeObject, keyOf } from "@purlin/kube-objects/object";
import { fieldManagers } from "../../composite-resource/constants.ts";

const beforeFirstApply = "before-first-apply";

/**
 * The patch after which removing a field removes it, also from an object that was once written by plain updates:
 * undefined when there is nothing to do. The version read goes along, so that nobody's change is lost.
 */
export function managedFieldsUpgrade({ metadata }: KubeObject): JsonValue | undefined {
  if (!metadata.creationTimestamp) return undefined;
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  const ours = managers.some((manager) => manager.startsWith(fieldManagers.composedPrefix));
  const index = managers.indexOf(beforeFirstApply);
  if (ours && index < 0) return undefined;
  const change = ours
    ? { op: "remove", path: `/metadata/managedFields/${index}` }
    : { op: "replace", path: "/metadata/managedFields", value: [{}] };
  return [change, { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion ?? "" }];
}

/** Upgrades the field ownership of observed objects where that is needed. What is gone meanwhile needs none. */
export async function upgradeManagedFields(
  objects: readonly KubeObject[],
  client: ControllerClient,
  signal: AbortSignal,
): Promise<void> {
  for (const object of objects) {
    const patch = managedFieldsUpgrade(object);
    if (patch === undefined) continue;
    const { apiVersion, kind } = object;
    await ignoreNotFound(client.patch({ apiVersion, kind, ...keyOf(object) }, patch, { type: "json", signal }));
  }
}
