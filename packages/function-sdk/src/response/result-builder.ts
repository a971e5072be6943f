// SPDX-License-Identifier: Apache-2.0
import {
  Condition,
  create,
  Result,
  type RunFunctionResponse,
  Severity,
  Status,
  Target,
} from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import type { ConditionStatus, ObjectCondition } from "../resource/kube-object.ts";

/** A result and its conditions, ready for response.addResult. */
export interface BuiltResult {
  readonly result: Readonly<Result>;
  readonly conditions: readonly Readonly<Condition>[];
}

/** Builds a result: its target, its reason and its conditions. */
export interface ResultBuilder {
  /** For the composite alone. The last call wins; this is also the default. */
  targetComposite(): ResultBuilder;
  /** For the composite and its claim. The last call wins. */
  targetCompositeAndClaim(): ResultBuilder;
  /** The event's reason, PascalCase. Conditions without a reason of their own take it too. */
  withReason(reason: string): ResultBuilder;
  /** Adds a condition. It takes over the result's target, and its message unless it has one of its own. */
  withConditionTrue(type: string, reason?: string, message?: string): ResultBuilder;
  withConditionFalse(type: string, reason?: string, message?: string): ResultBuilder;
  withConditionUnknown(type: string, reason?: string, message?: string): ResultBuilder;
  /** The finished result, frozen. May be called again. Throws MISSING_REASON when a condition ends up without one. */
  build(): BuiltResult;
}

interface Wanted {
  readonly type: string;
  readonly status: Status;
  readonly reason: string | undefined;
  readonly message: string | undefined;
}

class Builder implements ResultBuilder {
  readonly #severity: Severity;
  readonly #message: string;
  readonly #conditions: Wanted[] = [];
  #target: Target = Target.TARGET_COMPOSITE;
  #reason: string | undefined;

  constructor(severity: Severity, message: string) {
    this.#severity = severity;
    this.#message = message;
  }

  targetComposite(): this {
    this.#target = Target.TARGET_COMPOSITE;
    return this;
  }

  targetCompositeAndClaim(): this {
    this.#target = Target.TARGET_COMPOSITE_AND_CLAIM;
    return this;
  }

  withReason(reason: string): this {
    this.#reason = reason;
    return this;
  }

  withConditionTrue(type: string, reason?: string, message?: string): this {
    return this.#add({ type, status: Status.STATUS_CONDITION_TRUE, reason, message });
  }

  withConditionFalse(type: string, reason?: string, message?: string): this {
    return this.#add({ type, status: Status.STATUS_CONDITION_FALSE, reason, message });
  }

  withConditionUnknown(type: string, reason?: string, message?: string): this {
    return this.#add({ type, status: Status.STATUS_CONDITION_UNKNOWN, reason, message });
  }

  build(): BuiltResult {
    const result = create(Result, {
      severity: this.#severity,
      message: this.#message,
      reason: this.#reason,
      target: this.#target,
    });
    const conditions = this.#conditions.map((wanted) => Object.freeze(this.#condition(wanted)));
    return Object.freeze({ result: Object.freeze(result), conditions: Object.freeze(conditions) });
  }

  #add(wanted: Wanted): this {
    checkType(wanted.type);
    if (this.#conditions.some(({ type }) => type === wanted.type)) {
      throw new FunctionError("DUPLICATE_CONDITION", `this result already has a condition "${wanted.type}"`);
    }
    this.#conditions.push(wanted);
    return this;
  }

  #condition({ type, status, reason = this.#reason, message = this.#message }: Wanted): Condition {
    if (!reason) {
      const remedy = "set one, or set one on the result with withReason";
      throw new FunctionError("MISSING_REASON", `condition "${type}" has no reason: ${remedy}`);
    }
    return create(Condition, { type, status, reason, message, target: this.#target });
  }
}

/** Starts a result that stops the pipeline: nothing is applied. */
export function fatal(error: unknown): ResultBuilder {
  return new Builder(Severity.SEVERITY_FATAL, errorText(error));
}

/** Starts a result that raises a Warning event. */
export function warning(error: unknown): ResultBuilder {
  return new Builder(Severity.SEVERITY_WARNING, errorText(error));
}

/** Starts a result that raises a Normal event. */
export function normal(text: string): ResultBuilder {
  return new Builder(Severity.SEVERITY_NORMAL, text);
}

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
