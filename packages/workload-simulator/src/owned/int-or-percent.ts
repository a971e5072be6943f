// SPDX-License-Identifier: Apache-2.0
import type { JsonValue } from "@purlin/kube-objects/json";

/** A number of replicas that is written as a number, or as a percentage of a total. */
export function scaledCount(value: JsonValue | undefined, total: number, round: "up" | "down"): number {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !value.endsWith("%")) return 0;
  const share = (Number(value.slice(0, -1)) * total) / 100;
  return round === "up" ? Math.ceil(share) : Math.floor(share);
}
