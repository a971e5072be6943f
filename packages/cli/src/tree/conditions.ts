// SPDX-License-Identifier: Apache-2.0

import { isJsonArray, isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** One condition of an object. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly observedGeneration?: number;
}

/** The conditions of any object. What is no condition is left out. */
export function conditionsOf(object: KubeObject): Condition[] {
  const status = object["status"] as JsonValue | undefined;
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  if (!isJsonArray(conditions)) return [];
  return conditions.flatMap((value) => {
    if (!isJsonObject(value) || typeof value["type"] !== "string") return [];
    const text = (name: string): string => (typeof value[name] === "string" ? value[name] : "");
    const { observedGeneration: seen } = value;
    return [
      {
        type: value["type"],
        status: text("status"),
        reason: text("reason"),
        message: text("message"),
        ...(typeof seen === "number" && { observedGeneration: seen }),
      },
    ];
  });
}

/** One condition of an object. */
export function conditionOf(object: KubeObject, type: string): Condition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}
