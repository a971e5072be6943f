// SPDX-License-Identifier: Apache-2.0
import { finish, type Work } from "@purlin/base";
import {
  childPath,
  duplicatePrinted,
  type FieldError,
  fieldValueText,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  rootPath,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonValue } from "@purlin/kube-objects/json";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { maxWork } from "../eval/evaluation.ts";
import type { Outcome } from "../program.ts";
import { schemaValue } from "../schema/schema-value.ts";
import { trimSpace } from "../values/text.ts";
import { isError, none, OptionalValue, type Value } from "../values/value.ts";
import { collectPlaces, isUnchanged, type Place } from "./places.ts";
import type { CompiledRule, CostedProgram, RuleSet } from "./rule-set.ts";
import { objectCostLimit, objectWorkLimit, ruleCostLimit } from "./schema-places.ts";

const maxMessageBytes = 5 * 1024;
const costExceeded = "operation cancelled: actual cost limit exceeded";

/** What a rule is called in messages about it. */
function ruleName({ rule, message = "" }: ValidationRule): string {
  return message === "" ? trimSpace(rule) : trimSpace(message);
}

/** The text for a rule that could not be evaluated, and whether it is the last one that is run. */
function failure(problem: string, name: string): { readonly detail: string; readonly isFinal: boolean } {
  if (problem.startsWith("no such overload")) {
    const reason = "call arguments did not match a supported operator, function or macro signature for rule";
    return { detail: `'${problem}': ${reason}: ${name}`, isFinal: false };
  }
  if (problem.startsWith(costExceeded)) {
    const reason = "no further validation rules will be run due to call cost exceeds limit for rule";
    return { detail: `'${problem}': ${reason}: ${name}`, isFinal: true };
  }
  return { detail: `${problem} evaluating rule: ${name}`, isFinal: false };
}

interface FailedRule {
  readonly path: string;
  readonly schema: Schema;
  readonly value: unknown;
  readonly detail: string;
}

/** The error for a rule that is false, of the kind the rule asks for. Objects and arrays are not shown. */
function messageOf({ reason }: ValidationRule, { path, schema, value, detail }: FailedRule): FieldError {
  const isHidden = schema.type === "object" || schema.type === "array";
  const shown = isHidden ? "" : fieldValueText(value as JsonValue);
  switch (reason) {
    case "FieldValueForbidden":
      return forbiddenValue(path, detail);
    case "FieldValueRequired":
      return requiredValue(path, detail);
    case "FieldValueDuplicate":
      return duplicatePrinted(path, shown);
    default:
      return invalidPrinted(path, shown, detail);
  }
}

interface RuleMessage {
  readonly text: string;
  readonly costLeft: number;
  /** The cost ran out; the text says so, and no more rules are run. */
  readonly isFinal: boolean;
}

/** The message of a rule that is false: what its expression gave, else its own, else the rule itself. */
function finishMessage(rule: ValidationRule, outcome: Outcome | undefined, costLeft: number): RuleMessage {
  const fallback = rule.message ? trimSpace(rule.message) : `failed rule: ${ruleName(rule)}`;
  if (!outcome) return { text: fallback, costLeft, isFinal: false };
  const { value, cost } = outcome;
  const final = (text: string): RuleMessage => ({ text, costLeft: -1, isFinal: true });
  if (cost > costLeft) {
    return final(
      "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run",
    );
  }
  if (isError(value) && value.message.startsWith(costExceeded)) {
    const source = goQuote(rule.messageExpression ?? "");
    return final(
      `no further validation rules will be run due to call cost exceeds limit for messageExpression: ${source}`,
    );
  }
  return { text: usableMessage(value) ?? fallback, costLeft: costLeft - cost, isFinal: false };
}

/** A message must be one line of text that is neither empty nor too long. */
function usableMessage(value: Value): string | undefined {
  if (typeof value !== "string") return undefined;
  const text = trimSpace(value);
  return text === "" || text.includes("\n") || Buffer.byteLength(text) > maxMessageBytes ? undefined : text;
}

interface ValidateOptions {
  /** The object before an update. Rules that read `oldSelf` run only where there is an old value. */
  readonly oldValue?: unknown;
  /** Where the value stands; the object itself by default. */
  readonly path?: string;
  /** What all rules together may cost. */
  readonly costLimit?: number;
}

interface RuleOutcome {
  readonly errors: readonly FieldError[];
  /**
   * Failures on values that an update left as they were. They do not make the update fail; the API server
   * returns them as warnings.
   */
  readonly unchanged: readonly FieldError[];
  /** What is left of the cost limit; negative when it ran out. */
  readonly costLeft: number;
}

/** Runs all rules over a value. */
export function validateRules(rules: RuleSet, value: unknown, options: ValidateOptions = {}): RuleOutcome {
  return finish(validatingRules(rules, value, options));
}

/** The same in parts. The value must not change meanwhile. */
export function* validatingRules(rules: RuleSet, value: unknown, options: ValidateOptions = {}): Work<RuleOutcome> {
  const { oldValue, path = rootPath, costLimit = objectCostLimit } = options;
  const run = new RuleRun(costLimit);
  for (const place of collectPlaces(rules, { path, value, oldValue })) {
    yield* run.runRules(place);
    if (run.isOver) break;
  }
  return outcomeOf(run);
}

const outcomeOf = ({ errors, unchanged, costLeft }: RuleRun): RuleOutcome => ({ errors, unchanged, costLeft });

type Variables = {
  readonly self: Value;
  readonly oldSelf: Value | undefined;
};

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

/** Runs rules one place after the other and keeps the account of what they cost. */
class RuleRun {
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

  /** Runs the rules of a place. */
  *runRules(place: Place): Work<void> {
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
      yield* this.#runRule(rules.rule(index), place, { self, oldSelf });
      if (this.isOver) return;
      yield;
    }
  }

  #stop(error: FieldError): void {
    this.errors.push(error);
    this.#costLeft = -1;
  }

  *#runRule(compiled: CompiledRule, place: Place, { self, oldSelf }: Variables): Work<void> {
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
    const { value, cost } = yield* this.#evaluate(condition, variables);
    if (cost > this.#costLeft) {
      this.#stop(invalidValue(place.path, type, outOfBudget));
      return;
    }
    this.#costLeft -= cost;
    if (isError(value)) this.#reportFailure(place, value.message, compiled);
    else if (value !== true) yield* this.#reportFalse(place, compiled, variables);
  }

  *#evaluate({ program }: CostedProgram, variables: Variables): Work<Outcome> {
    const outcome = yield* program.evaluating(variables, {
      cost: ruleCostLimit,
      work: Math.min(maxWork, this.#workLeft),
    });
    this.#workLeft = Math.max(0, this.#workLeft - outcome.work);
    return outcome;
  }

  #reportFailure({ path, rules }: Place, problem: string, { rule }: CompiledRule): void {
    const { detail, isFinal } = failure(problem, ruleName(rule));
    const error = invalidValue(path, rules.schema.type ?? "", detail);
    if (isFinal) this.#stop(error);
    else this.errors.push(error);
  }

  *#reportFalse(place: Place, compiled: CompiledRule, variables: Variables): Work<void> {
    const { schema } = place.rules;
    const path = compiled.fieldPath === undefined ? place.path : childPath(place.path, compiled.fieldPath);
    const outcome = compiled.message && (yield* this.#evaluate(compiled.message, variables));
    const message = finishMessage(compiled.rule, outcome, this.#costLeft);
    this.#costLeft = message.costLeft;
    const error = message.isFinal
      ? invalidValue(path, schema.type ?? "", message.text)
      : messageOf(compiled.rule, { path, schema, value: place.value, detail: message.text });
    const isForgiven = !compiled.condition?.program.usesOldSelf && isUnchanged(place);
    (isForgiven ? this.unchanged : this.errors).push(error);
  }
}
