// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";

/** How many objects of each kind, such as `2 Composition, 1 CompositeResourceDefinition`. */
export function kindCounts(objects: readonly JsonObject[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of objects) counts.set(String(kind), (counts.get(String(kind)) ?? 0) + 1);
  return [...counts].map(([kind, count]) => `${count} ${kind}`).join(", ");
}

/** A size that people can read. */
export function sizeText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${units[unit]}`;
}
