// SPDX-License-Identifier: Apache-2.0
import { isRawObject } from "../schema/raw-json.ts";
import { schemaValue } from "../schema/schema-value.ts";
import { isError } from "../values/cel-error.ts";
import { none, OptionalValue } from "../values/optional.ts";
import type { Value } from "../values/value.ts";
import type { CompiledRule } from "./compile-rule.ts";
import { Correlation } from "./correlation.ts";
import { objectCostLimit, ruleCostLimit } from "./cost-limits.ts";
import { type FieldError, invalid } from "./field-error.ts";
import { createMapList } from "./map-list.ts";
import { evaluateMessage, failure, messageOf, ruleName } from "./messages.ts";
import { childPath, keyPath, rootPath } from "./path.ts";
import type { RuleSet } from "./rule-set.ts";

export interface ValidateOptions {
  /** The object before an update. Rules that read `oldSelf` run only where there is an old value. */
  readonly oldValue?: unknown;
  /** Where the value stands; the object itself by default. */
  readonly path?: string;
  /** What all rules together may cost. */
  readonly costLimit?: number;
}

export interface RuleOutcome {
  readonly errors: readonly FieldError[];
  /**
   * Failures on values that an update left as they were. They do not make the update fail; the API server tells them
   * as warnings.
   */
  readonly unchanged: readonly FieldError[];
  /** What is left of the cost limit; negative when it ran out. */
  readonly costLeft: number;
}

/** Runs all rules over a value. */
export function validateRules(rules: RuleSet, value: unknown, options: ValidateOptions = {}): RuleOutcome {
  const { oldValue, path = rootPath, costLimit = objectCostLimit } = options;
  const run = new RuleRun(costLimit);
  const hasOld = oldValue !== undefined && oldValue !== null;
  const current = hasOld ? new Correlation(value, oldValue, rules.schema) : undefined;
  run.visit({ rules, path, value, oldValue, correlation: { current, nearest: undefined } });
  return { errors: run.errors, unchanged: run.unchanged, costLeft: run.costLeft };
}

/** The old value of a place, or of the nearest place above it that has one. */
interface Ancestry {
  readonly current: Correlation | undefined;
  readonly nearest: Correlation | undefined;
}

interface Visit {
  readonly rules: RuleSet;
  readonly path: string;
  readonly value: unknown;
  readonly oldValue: unknown;
  readonly correlation: Ancestry;
}

const outOfBudget = "validation failed due to running out of cost budget, no further validation rules will be run";

class RuleRun {
  readonly errors: FieldError[] = [];
  readonly unchanged: FieldError[] = [];
  costLeft: number;

  constructor(costLimit: number) {
    this.costLeft = costLimit;
  }

  visit(visit: Visit): void {
    if (visit.value === null || visit.value === undefined) return;
    if (visit.rules.hasOwnRules) this.#runRules(visit);
    for (const rules of visit.rules.allOf) {
      if (this.costLeft < 0) return;
      // What a part of allOf finds is never forgiven at its own place.
      this.visit({ ...visit, rules, correlation: { current: undefined, nearest: visit.correlation.nearest } });
    }
    if (this.costLeft < 0) return;
    if (Array.isArray(visit.value)) this.#visitElements(visit, visit.value);
    else if (isRawObject(visit.value)) this.#visitEntries(visit, visit.value);
  }

  #visitElements({ rules, path, oldValue, correlation }: Visit, elements: readonly unknown[]): void {
    const { items } = rules;
    if (!items) return;
    const findOld = createMapList(rules.schema, Array.isArray(oldValue) ? oldValue : undefined);
    for (const [index, value] of elements.entries()) {
      if (this.costLeft < 0) return;
      this.visit({
        rules: items,
        path: keyPath(path, index),
        value,
        oldValue: findOld(value),
        correlation: below(correlation, (current) => current.index(index)),
      });
    }
  }

  #visitEntries({ rules, path, oldValue, correlation }: Visit, entries: Readonly<Record<string, unknown>>): void {
    const old = isRawObject(oldValue) ? oldValue : {};
    for (const [name, value] of Object.entries(entries)) {
      for (const child of [rules.values, rules.properties.get(name)]) {
        if (!child) continue;
        if (this.costLeft < 0) return;
        this.visit({
          rules: child,
          path: child === rules.values ? keyPath(path, name) : childPath(path, name),
          value,
          oldValue: Object.hasOwn(old, name) ? old[name] : undefined,
          correlation: entryAncestry(correlation, name),
        });
      }
    }
  }

  #runRules(visit: Visit): void {
    const { rules, path } = visit;
    const { type } = rules.schema;
    const compiled = rules.rules;
    if (!compiled) {
      const detail = "rule compiler initialization error: failed to convert to declType for CEL validation rules";
      this.errors.push(invalid(path, type ?? "", detail));
      return;
    }
    if (this.costLeft <= 0) {
      this.#stop(invalid(path, type ?? "", outOfBudget));
      return;
    }
    const self = schemaValue(visit.value, rules.node);
    const hasOld = visit.oldValue !== undefined && visit.oldValue !== null;
    const oldSelf = hasOld ? schemaValue(visit.oldValue, rules.node) : undefined;
    for (const rule of compiled) {
      this.#runRule(rule, visit, { self, oldSelf });
      if (this.costLeft < 0) return;
    }
  }

  #stop(error: FieldError): void {
    this.errors.push(error);
    this.costLeft = -1;
  }

  #runRule(compiled: CompiledRule, visit: Visit, { self, oldSelf }: { self: Value; oldSelf: Value | undefined }): void {
    const { condition, rule } = compiled;
    const type = visit.rules.schema.type ?? "";
    if (compiled.error !== undefined)
      this.errors.push(invalid(visit.path, type, `rule compile error: ${compiled.error}`));
    if (!condition) return;
    const isOptional = rule.optionalOldSelf === true;
    if (condition.program.usesOldSelf && oldSelf === undefined && !isOptional) return;
    const optionalOld = oldSelf === undefined ? none : new OptionalValue(oldSelf);
    const variables = { self, oldSelf: isOptional ? optionalOld : oldSelf };
    const { value, cost } = condition.program.evaluate(variables, ruleCostLimit);
    if (cost > this.costLeft) {
      this.#stop(invalid(visit.path, type, outOfBudget));
      return;
    }
    this.costLeft -= cost;
    if (isError(value)) this.#reportFailure(visit, value.message, compiled);
    else if (value !== true) this.#reportFalse(visit, compiled, variables);
  }

  #reportFailure({ path, rules }: Visit, problem: string, { rule }: CompiledRule): void {
    const { detail, isFinal } = failure(problem, ruleName(rule));
    const error = invalid(path, rules.schema.type ?? "", detail);
    if (isFinal) this.#stop(error);
    else this.errors.push(error);
  }

  #reportFalse(visit: Visit, compiled: CompiledRule, variables: { self: Value; oldSelf: Value | undefined }): void {
    const path = compiled.fieldPath === undefined ? visit.path : childPath(visit.path, compiled.fieldPath);
    const message = evaluateMessage(compiled, variables, { costLimit: ruleCostLimit, costLeft: this.costLeft });
    const report = (error: FieldError): void => {
      const isForgiven = !compiled.condition?.program.usesOldSelf && isUnchanged(visit.correlation);
      (isForgiven ? this.unchanged : this.errors).push(error);
    };
    if (message.isFinal) {
      report(invalid(path, visit.rules.schema.type ?? "", message.text));
      this.costLeft = -1;
      return;
    }
    this.costLeft = message.costLeft;
    report(messageOf(compiled.rule, { path, schema: visit.rules.schema, value: visit.value, detail: message.text }));
  }
}

function below({ current, nearest }: Ancestry, step: (current: Correlation) => Correlation | undefined): Ancestry {
  return current ? { current: step(current), nearest: current } : { current, nearest };
}

/** Old and new object always have the same apiVersion and kind, so these two say nothing. */
function entryAncestry(ancestry: Ancestry, name: string): Ancestry {
  const isTypeMeta = !ancestry.nearest && (name === "apiVersion" || name === "kind");
  if (ancestry.current && isTypeMeta) return { current: undefined, nearest: undefined };
  return below(ancestry, (current) => current.key(name));
}

function isUnchanged({ current, nearest }: Ancestry): boolean {
  return (current ?? nearest)?.isUnchanged ?? false;
}
