// SPDX-License-Identifier: Apache-2.0

import { Buffer } from "node:buffer";
import { isJsonObject } from "../json/json-value.ts";
import { type KubeObject, memberAt, withMember } from "./kube-object.ts";

/** One condition of an object, as it is stored. */
export type Condition = {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly lastTransitionTime: string;
  readonly message?: string;
  readonly observedGeneration?: number;
};

/** What a controller says about an object; time and generation are added when it is set. */
export type ConditionText = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The conditions of an object, whatever else its status holds. */
export function conditionsOf(object: object): readonly Condition[] {
  const value = memberAt(object, ["status", "conditions"]);
  if (!Array.isArray(value)) return [];
  return value.filter((item): item is Condition => isJsonObject(item) && typeof item["type"] === "string");
}

/** The condition of a type. One that is absent reads as `Unknown`, without reason and time. */
export function conditionOf(conditions: readonly Condition[], type: string): Condition {
  const found = conditions.find((condition) => condition.type === type);
  return found ?? { type, status: "Unknown", reason: "", lastTransitionTime: "" };
}

/**
 * Sets conditions, one after the other. A condition that says the same keeps its place and its time; otherwise the new one takes the place
 * of its type, time included, and a new type goes to the end. Generations differ only when both sides name one. Functions may set any
 * number of conditions: the cost is linear.
 */
export function setConditions(conditions: readonly Condition[], changes: Iterable<Condition>): readonly Condition[] {
  const places = placesOf(conditions);
  let changed: Condition[] | undefined;
  for (const condition of changes) {
    const place = places.get(condition.type);
    const before = place === undefined ? undefined : (changed ?? conditions)[place];
    if (before !== undefined && sameCondition(before, condition)) continue;
    changed ??= [...conditions];
    if (place === undefined) places.set(condition.type, changed.push(condition) - 1);
    else changed[place] = condition;
  }
  return changed ?? conditions;
}

/** Where the first condition of each type is. */
function placesOf(conditions: readonly Condition[]): Map<string, number> {
  const places = new Map<string, number>();
  for (const [place, { type }] of conditions.entries()) if (!places.has(type)) places.set(type, place);
  return places;
}

/** Whether two conditions of one type say the same; their times do not count. */
export function sameCondition(a: Condition, b: Condition): boolean {
  const texts = a.status === b.status && a.reason === b.reason && (a.message ?? "") === (b.message ?? "");
  const [one, other] = [a.observedGeneration ?? 0, b.observedGeneration ?? 0];
  return texts && (one === 0 || other === 0 || one === other);
}

/** The object with these conditions in its status. */
export function withConditions<T extends KubeObject>(object: T, conditions: readonly Condition[]): T {
  return withMember(object, ["status", "conditions"], conditions);
}

/** A condition a controller sets itself: stamped with a time and, when the object has one, its generation. */
export function stampCondition(text: ConditionText, time: string, generation: number | undefined): Condition {
  const { message, ...rest } = text;
  return {
    ...rest,
    lastTransitionTime: time,
    ...(message ? { message } : {}),
    ...(generation ? { observedGeneration: generation } : {}),
  };
}

/** A time as the API server stores it in conditions: whole seconds. */
export function conditionTime(milliseconds: number): string {
  // What is cut off is always `.123Z`, also in years of more than four digits.
  return `${new Date(milliseconds).toISOString().slice(0, -5)}Z`;
}

/** The condition of a paused object. */
export const pausedCondition: ConditionText = {
  type: "Synced",
  status: "False",
  reason: "ReconcilePaused",
  message: "Reconciliation (including deletion) is paused via the pause annotation",
};

/** Whether the object still says that it is paused. */
export function saysPaused(object: object): boolean {
  return conditionOf(conditionsOf(object), pausedCondition.type).reason === pausedCondition.reason;
}

/** The longest message of a condition or an event: functions and users write parts of it. */
export const longestMessage = 32_768;

/** A message cut to what conditions and events can hold. */
export function shortened(message: string): string {
  // A character is at least one byte: what is long for certain is neither counted nor encoded as a whole.
  if (message.length <= longestMessage && Buffer.byteLength(message) <= longestMessage) return message;
  const bytes = Buffer.from(message.slice(0, longestMessage)).subarray(0, longestMessage - 4);
  // A character that was cut in two becomes a replacement character, which is cut off.
  return `${bytes.toString().replace(/\uFFFD{1,3}$/, "")}…`;
}
