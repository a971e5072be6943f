// SPDX-License-Identifier: Apache-2.0
import { Condition, create, type RunFunctionResponse, Status, Target } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";
import type { ConditionStatus, ObjectCondition } from "../resource/kube-object.ts";

const reservedTypes: readonly string[] = ["Ready", "Synced", "Healthy", "Responsive", "UpToDate"];

/** A condition that was added to a response and may still be adjusted. */
export interface ConditionOption {
  /** For the composite alone, as it is without saying anything. */
  targetComposite(): ConditionOption;
  /** For the composite and its claim. */
  targetCompositeAndClaim(): ConditionOption;
  withMessage(message: string): ConditionOption;
}

class AddedCondition implements ConditionOption {
  readonly #condition: Condition;

  constructor(condition: Condition) {
    this.#condition = condition;
  }

  targetComposite(): this {
    this.#condition.target = Target.TARGET_COMPOSITE;
    return this;
  }

  targetCompositeAndClaim(): this {
    this.#condition.target = Target.TARGET_COMPOSITE_AND_CLAIM;
    return this;
  }

  withMessage(message: string): this {
    this.#condition.message = message;
    return this;
  }
}

/** Adds a condition of status True. Throws RESERVED_CONDITION on a type that belongs to the control plane. */
export function conditionTrue(rsp: RunFunctionResponse, type: string, reason: string): ConditionOption {
  return append(rsp, { type, status: Status.STATUS_CONDITION_TRUE, reason });
}

/** Adds a condition of status False. Throws RESERVED_CONDITION on a type that belongs to the control plane. */
export function conditionFalse(rsp: RunFunctionResponse, type: string, reason: string): ConditionOption {
  return append(rsp, { type, status: Status.STATUS_CONDITION_FALSE, reason });
}

/** Adds a condition of status Unknown. Throws RESERVED_CONDITION on a type that belongs to the control plane. */
export function conditionUnknown(rsp: RunFunctionResponse, type: string, reason: string): ConditionOption {
  return append(rsp, { type, status: Status.STATUS_CONDITION_UNKNOWN, reason });
}

/** Adds a prepared condition as it is. */
export function addCondition(rsp: RunFunctionResponse, condition: Condition): void {
  rsp.conditions.push({ ...condition });
}

const statusNumbers: Readonly<Record<ConditionStatus, Status>> = {
  True: Status.STATUS_CONDITION_TRUE,
  False: Status.STATUS_CONDITION_FALSE,
  Unknown: Status.STATUS_CONDITION_UNKNOWN,
};

/** Adds conditions in the form objects have them, for the composite. Their times are not sent. */
export function setConditions(rsp: RunFunctionResponse, ...conditions: readonly ObjectCondition[]): void {
  for (const { type, status, reason, message } of conditions) {
    const number = statusNumbers[status] ?? Status.STATUS_CONDITION_UNKNOWN;
    const added = append(rsp, { type, status: number, reason: reason ?? "" });
    if (message !== undefined) added.withMessage(message);
  }
}

function append(
  rsp: RunFunctionResponse,
  added: { readonly type: string; readonly status: Status; readonly reason: string },
): ConditionOption {
  checkType(added.type);
  const condition = create(Condition, { ...added, target: Target.TARGET_COMPOSITE });
  rsp.conditions.push(condition);
  return new AddedCondition(condition);
}

/** Control planes drop these without a word, so an author would wait for them in vain. */
export function checkType(type: string): void {
  if (!reservedTypes.includes(type)) return;
  const text = `condition type "${type}" is reserved for the control plane, which would ignore it; choose another`;
  throw new FunctionError("RESERVED_CONDITION", `${text} (reserved: ${reservedTypes.join(", ")})`);
}
