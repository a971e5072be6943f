// SPDX-License-Identifier: Apache-2.0
import type { TypeRef } from "@purlin/kube-objects/object";
import type { MatchLabels } from "./crossplane-fields.ts";

/** A kind in messages. */
export function kindText({ apiVersion, kind }: TypeRef): string {
  return `${kind} (${apiVersion})`;
}

/** The labels of a selector in messages, sorted; empty for a selector without labels. */
export function labelsText(labels: MatchLabels): string {
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([key, value]) => `${key}=${value}`).join(", ");
}
