// SPDX-License-Identifier: Apache-2.0
import type { JsonObject, JsonValue } from "@purlin/kube-objects/json";
import { type Condition, conditionTime } from "@purlin/kube-objects/object";

/** The members that are set: zero, empty and absent ones are left out, as Go leaves them out of JSON. */
export function withoutEmpty(fields: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  const isSet = ([, value]: readonly [string, JsonValue | undefined]): boolean =>
    value !== undefined && value !== 0 && value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(isSet)) as JsonObject;
}

/** What a controller says in a condition of a workload. */
export interface ConditionClaim {
  readonly type: string;
  readonly status: Condition["status"];
  readonly reason: string;
  readonly message: string;
}

/** A condition as Deployments have it: with the time of its last update. */
export type UpdatedCondition = Condition & { readonly lastUpdateTime?: string };

/**
 * Sets a condition as the workload controllers do: one with the same status and reason stays as it is, whatever its message; a new one goes to
 * the end, and keeps the time of its transition when only the reason changed.
 */
export function setCondition(
  conditions: readonly UpdatedCondition[],
  claim: ConditionClaim,
  { now, hasUpdateTime = false }: { readonly now: number; readonly hasUpdateTime?: boolean },
): readonly UpdatedCondition[] {
  const current = conditions.find(({ type }) => type === claim.type);
  if (current?.status === claim.status && current.reason === claim.reason) return conditions;
  const time = conditionTime(now);
  const lastTransitionTime = current?.status === claim.status ? current.lastTransitionTime : time;
  const condition = { ...claim, ...(hasUpdateTime && { lastUpdateTime: time }), lastTransitionTime };
  return [...withoutCondition(conditions, claim.type), condition];
}

/** The conditions without those of a type. */
export function withoutCondition<T extends Condition>(conditions: readonly T[], type: string): readonly T[] {
  return conditions.some((one) => one.type === type) ? conditions.filter((one) => one.type !== type) : conditions;
}
