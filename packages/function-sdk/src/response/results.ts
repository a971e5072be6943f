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
import { errorText } from "../errors/function-error.ts";
import { addCondition, type BuiltResult, checkType } from "./result-builder.ts";

/** A result that was added to a response and may still be adjusted. */
export interface ResultOption {
  /** For the composite alone, as it is without saying anything. */
  targetComposite(): ResultOption;
  /** For the composite and its claim. */
  targetCompositeAndClaim(): ResultOption;
  /** The event's reason, PascalCase. */
  withReason(reason: string): ResultOption;
  /** Adds a condition that goes with the result: same target, and same message unless it has one of its own. */
  conditionTrue(type: string, reason: string, message?: string): ResultOption;
  conditionFalse(type: string, reason: string, message?: string): ResultOption;
  conditionUnknown(type: string, reason: string, message?: string): ResultOption;
}

class AddedResult implements ResultOption {
  readonly #rsp: RunFunctionResponse;
  readonly #result: Result;
  readonly #linked: Condition[] = [];

  constructor(rsp: RunFunctionResponse, result: Result) {
    this.#rsp = rsp;
    this.#result = result;
  }

  targetComposite(): this {
    return this.#aim(Target.TARGET_COMPOSITE);
  }

  targetCompositeAndClaim(): this {
    return this.#aim(Target.TARGET_COMPOSITE_AND_CLAIM);
  }

  withReason(reason: string): this {
    this.#result.reason = reason;
    return this;
  }

  conditionTrue(type: string, reason: string, message?: string): this {
    return this.#link(type, Status.STATUS_CONDITION_TRUE, { reason, message });
  }

  conditionFalse(type: string, reason: string, message?: string): this {
    return this.#link(type, Status.STATUS_CONDITION_FALSE, { reason, message });
  }

  conditionUnknown(type: string, reason: string, message?: string): this {
    return this.#link(type, Status.STATUS_CONDITION_UNKNOWN, { reason, message });
  }

  /** Whatever the order of the calls, the conditions go where the result goes. */
  #aim(target: Target): this {
    this.#result.target = target;
    for (const condition of this.#linked) condition.target = target;
    return this;
  }

  #link(type: string, status: Status, text: { reason: string; message: string | undefined }): this {
    checkType(type);
    const { target, message: own } = this.#result;
    const { reason, message = own } = text;
    const condition = create(Condition, { type, status, reason, message, target });
    this.#linked.push(condition);
    this.#rsp.conditions.push(condition);
    return this;
  }
}

/** Adds a result that stops the pipeline: nothing is applied, later steps do not run. */
export function fatal(rsp: RunFunctionResponse, error: unknown): ResultOption {
  return append(rsp, Severity.SEVERITY_FATAL, errorText(error));
}

/** Adds a result that raises a Warning event. */
export function warning(rsp: RunFunctionResponse, error: unknown): ResultOption {
  return append(rsp, Severity.SEVERITY_WARNING, errorText(error));
}

/** Adds a result that raises a Normal event. */
export function normal(rsp: RunFunctionResponse, text: string): ResultOption {
  return append(rsp, Severity.SEVERITY_NORMAL, text);
}

/** Adds a result that was built with the `result` builder, with its conditions, or a prepared message as it is. */
export function addResult(rsp: RunFunctionResponse, built: BuiltResult | Result): void {
  if (!("result" in built)) {
    rsp.results.push({ ...built });
    return;
  }
  rsp.results.push({ ...built.result });
  for (const condition of built.conditions) addCondition(rsp, condition);
}

function append(rsp: RunFunctionResponse, severity: Severity, message: string): ResultOption {
  const result = create(Result, { severity, message, target: Target.TARGET_COMPOSITE });
  rsp.results.push(result);
  return new AddedResult(rsp, result);
}
