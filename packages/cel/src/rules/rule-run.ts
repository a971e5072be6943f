// SPDX-License-Identifier: Apache-2.0
import { childPath, type FieldError, invalidValue } from "@purlin/kube-objects/errors";
import { maxWork } from "../eval/evaluation.ts";
import type { Outcome } from "../program.ts";
import { schemaValue } from "../schema/schema-value.ts";
import { isError } from "../values/cel-error.ts";
import { none, OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";
import type { CompiledRule, CostedProgram } from "./compile-rule.ts";
import { objectWorkLimit, ruleCostLimit } from "./cost-limits.ts";
import { failure, finishMessage, messageOf, ruleName } from "./messages.ts";
import { isUnchanged, type Place } from "./places.ts";

type Variables = {
  readonly self: Value;
  readonly oldSelf: Value | undefined;
};

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/** Runs rules one place after the other and keeps the account of what they cost. */
export class RuleRun {
  readonly errors: FieldError[] = [];
  readonly unchanged: FieldError[] = [];
  #costLeft: number;
  #workLeft: number = objectWorkLimit;

  constructor(costLimit: number) {
    this.#costLeft = costLimit;
  }

  get costLeft(): number {
    return this.#costLeft;
  }

  /** Nothing more is run: the cost ran out. */
  get isOver(): boolean {
    return this.#costLeft < 0;
  }

  /** Runs the rules of a place. Stops after each rule, so that the caller can let others run in between. */
  *runRules(place: Place): Generator<void> {
    const { rules, path } = place;
    const type = rules.schema.type ?? "";
    if (!rules.isVisible) {
      const detail = "rule compiler initialization error: failed to convert to declType for CEL validation rules";
      this.errors.push(invalidValue(path, type, detail));
      return;
    }
    if (this.#costLeft <= 0) {
      this.#stop(invalidValue(path, type, outOfBudget));
      return;
    }
    const self = schemaValue(place.value, rules.node);
    const hasOld = place.oldValue !== undefined && place.oldValue !== null;
    const oldSelf = hasOld ? schemaValue(place.oldValue, rules.node) : undefined;
    for (let index = 0; index < rules.ruleCount; index++) {
      this.#runRule(rules.rule(index), place, { self, oldSelf });
      if (this.isOver) return;
      yield;
    }
  }

  #stop(error: FieldError): void {
    this.errors.push(error);
    this.#costLeft = -1;
  }

  #runRule(compiled: CompiledRule, place: Place, { self, oldSelf }: Variables): void {
    const { condition, rule } = compiled;
    const type = place.rules.schema.type ?? "";
    if (compiled.error !== undefined) {
      this.errors.push(invalidValue(place.path, type, `rule compile error: ${compiled.error}`));
    }
    if (!condition) return;
    const isOptional = rule.optionalOldSelf === true;
    if (condition.program.usesOldSelf && oldSelf === undefined && !isOptional) return;
    const optionalOld = oldSelf === undefined ? none : new OptionalValue(oldSelf);
    const variables = { self, oldSelf: isOptional ? optionalOld : oldSelf };
    const { value, cost } = this.#evaluate(condition, variables);
    if (cost > this.#costLeft) {
      this.#stop(invalidValue(place.path, type, outOfBudget));
      return;
    }
    this.#costLeft -= cost;
    if (isError(value)) this.#reportFailure(place, value.message, compiled);
    else if (value !== true) this.#reportFalse(place, compiled, variables);
  }

  #evaluate({ program }: CostedProgram, variables: Variables): Outcome {
    const outcome = program.evaluate(variables, ruleCostLimit, Math.min(maxWork, this.#workLeft));
    this.#workLeft = Math.max(0, this.#workLeft - outcome.work);
    return outcome;
  }

  #reportFailure({ path, rules }: Place, problem: string, { rule }: CompiledRule): void {
    const { detail, isFinal } = failure(problem, ruleName(rule));
    const error = invalidValue(path, rules.schema.type ?? "", detail);
    if (isFinal) this.#stop(error);
    else this.errors.push(error);
  }

  #reportFalse(place: Place, compiled: CompiledRule, variables: Variables): void {
    const { schema } = place.rules;
    const path = compiled.fieldPath === undefined ? place.path : childPath(place.path, compiled.fieldPath);
    const outcome = compiled.message && this.#evaluate(compiled.message, variables);
    const message = finishMessage(compiled.rule, outcome, this.#costLeft);
    this.#costLeft = message.costLeft;
    const error = message.isFinal
      ? invalidValue(path, schema.type ?? "", message.text)
      : messageOf(compiled.rule, { path, schema, value: place.value, detail: message.text });
    const isForgiven = !compiled.condition?.program.usesOldSelf && isUnchanged(place);
    (isForgiven ? this.unchanged : this.errors).push(error);
  }
}
