// SPDX-License-Identifier: Apache-2.0
import {
  isJsonObject,
  isStruct,
  type JsonObject,
  type JsonValue,
  type Resource,
  type Struct,
} from "@purlin/function-protocol";
import { isPathObject, type PathObject } from "./path-object.ts";
import { isResourceMessage } from "./resource-message.ts";

/** The status of a condition as Kubernetes objects spell it. */
export type ConditionStatus = "True" | "False" | "Unknown";

/** A status condition as found in `status.conditions` of an object. */
export interface ObjectCondition {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason?: string | undefined;
  readonly message?: string | undefined;
  readonly lastTransitionTime?: string | undefined;
}

/** What a condition can be read from; nothing at all reads as an object without conditions. */
export type Conditioned = object | PathObject | Struct | Resource | undefined;

/**
 * The condition of a type. Status is `Unknown` when the object does not have it, or has something else in its place.
 * Never throws.
 */
export function getCondition(object: Conditioned, type: string): ObjectCondition {
  const found = conditionsOf(jsonOf(object)).find((entry) => entry["type"] === type);
  return found === undefined ? { type, status: "Unknown" } : readCondition(type, found);
}

/** True when the object says `Ready: True`. */
export function isReady(object: Conditioned): boolean {
  return getCondition(object, "Ready").status === "True";
}

/** Replaces conditions of the same type and appends the others. One that says the same is left as it is. */
export function mergeConditions(existing: JsonValue | undefined, wanted: readonly ObjectCondition[]): JsonValue[] {
  const merged = Array.isArray(existing) ? [...existing] : [];
  for (const condition of wanted) {
    const index = merged.findIndex((entry) => isJsonObject(entry) && entry["type"] === condition.type);
    const before = merged[index];
    if (before === undefined) merged.push(toJsonCondition(condition));
    else if (!isSame(before as JsonObject, condition)) merged[index] = toJsonCondition(condition);
  }
  return merged;
}

function isSame(entry: JsonObject, { type, status, reason, message }: ObjectCondition): boolean {
  const there = readCondition(type, entry);
  return (
    there.status === status && (there.reason ?? "") === (reason ?? "") && (there.message ?? "") === (message ?? "")
  );
}

function toJsonCondition(condition: ObjectCondition): JsonObject {
  const { type, status, reason, message, lastTransitionTime } = condition;
  const optional = { reason, message, lastTransitionTime };
  const set = Object.entries(optional).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return { type, status, ...Object.fromEntries(set) };
}

function conditionsOf(object: unknown): JsonObject[] {
  const status = isJsonObject(object) ? object["status"] : undefined;
  const conditions = isJsonObject(status) ? status["conditions"] : undefined;
  return Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
}

function readCondition(type: string, entry: JsonObject): ObjectCondition {
  const { status, reason, message, lastTransitionTime } = entry;
  return {
    type,
    status: status === "True" || status === "False" ? status : "Unknown",
    ...(typeof reason === "string" ? { reason } : {}),
    ...(typeof message === "string" ? { message } : {}),
    ...(typeof lastTransitionTime === "string" ? { lastTransitionTime } : {}),
  };
}

/** The JSON behind a Struct, a Resource message, a wrapper, or a plain object. */
function jsonOf(source: Conditioned): unknown {
  if (source === undefined || source === null) return undefined;
  if (isStruct(source)) return source.value;
  if (isPathObject(source)) return source.toJSON();
  return isResourceMessage(source) ? source.resource?.value : source;
}
