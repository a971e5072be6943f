// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";
import type { KubeObject } from "@purlin/kube-objects/object";

/** The time of every condition in the output of a render, so that equal inputs have equal outputs. */
export const renderTime = "2024-01-01T00:00:00Z";

/**
 * The object with the render's time in its conditions, which are printed as Crossplane prints them: with the fields that
 * conditions have, and null where a status has none. A status with conditions of another form stays as it is.
 */
export function withRenderTimes(object: KubeObject): KubeObject {
  const { status } = object;
  if (!isJsonObject(status)) return object;
  const { conditions = null } = status;
  if (conditions === null) return { ...object, status: { ...status, conditions } };
  if (!Array.isArray(conditions) || !conditions.every(isCondition)) return object;
  return { ...object, status: { ...status, conditions: conditions.map(printed) } };
}

function isCondition(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const { observedGeneration = 0 } = value;
  return texts(value).every((text) => typeof text === "string") && typeof observedGeneration === "number";
}

function texts({ type = "", status = "", reason = "", message = "" }: JsonObject): JsonValue[] {
  return [type, status, reason, message];
}

function printed(condition: JsonObject): JsonObject {
  const [type = "", status = "", reason = "", message = ""] = texts(condition);
  const { observedGeneration } = condition;
  return {
    type,
    status,
    lastTransitionTime: renderTime,
    reason,
    ...(message && { message }),
    ...(observedGeneration && { observedGeneration }),
  };
}
