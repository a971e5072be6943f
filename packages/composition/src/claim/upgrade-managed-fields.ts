// SPDX-License-Identifier: Apache-2.0

import type { JsonValue } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";
import { fieldManagers } from "../composite-resource/constants.ts";

const beforeFirstApply = "before-first-apply";

/**
 * The patch after which removing a field from the claim removes it from a composite resource that was once written by
 * plain updates; undefined when there is nothing to do. The version read goes along, so that nobody's change is lost.
 */
export function managedFieldsUpgrade({ metadata }: KubeObject): JsonValue | undefined {
  const managers = (metadata.managedFields ?? []).map(({ manager = "" }) => manager);
  const isOurs = managers.includes(fieldManagers.claim);
  const index = managers.indexOf(beforeFirstApply);
  if (isOurs && index < 0) return undefined;
  const change = isOurs
    ? { op: "remove", path: `/metadata/managedFields/${index}` }
    : { op: "replace", path: "/metadata/managedFields", value: [{}] };
  return [change, { op: "replace", path: "/metadata/resourceVersion", value: metadata.resourceVersion ?? "" }];
}
