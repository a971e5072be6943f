// SPDX-License-Identifier: Apache-2.0
import { Condition, create, Result, Severity, Status, Target } from "@purlin/function-protocol";
import { errorText, FunctionError } from "../errors/function-error.ts";
import { checkType } from "./conditions.ts";

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
