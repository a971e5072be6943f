// SPDX-License-Identifier: Apache-2.0

import type { JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

const beforeFirstApply = "before-first-apply";

/**
 * The patch after which removing a field from an applied configuration removes it from the object, also when the object was once
 * written by plain updates; undefined when there is nothing to do. It names the version that was read, so that no other change is lost.
 */
export function managedFieldsUpgrade(
  { metadata }: KubeObject,
  isOurs: (manager: string) => boolean,
): JsonValue | undefined {
  if (!metadata.creationTimestamp) return undefined;
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  const hasApplied = managers.some(isOurs);
  const index = managers.indexOf(beforeFirstApply);
  if (hasApplied && index < 0) return undefined;
  const change = hasApplied
    ? { op: "remove", path: `/metadata/managedFields/${index}` }
    : { op: "replace", path: "/metadata/managedFields", value: [{}] };
  return [change, { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion ?? "" }];
}
