// SPDX-License-Identifier: Apache-2.0

import { finish, isPartDone, type Work } from "@purlin/base";
import {
  childPath,
  type FieldError,
  forbiddenValue,
  internalFieldError,
  invalidPrinted,
  invalidValue,
  keyPath,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { printJson } from "@purlin/kube-objects/json";
import type { Schema, ValidationRule } from "@purlin/kube-objects/schema";
import { maxSchemaDepth } from "../schema/decl-type.ts";
import { trimSpace } from "../values/text.ts";
import { type CompiledRule, maxCardinality, RuleCompiler, RulePathError, resolveFieldPath } from "./rule-set.ts";
import {
  CostTotal,
  childPlaces,
  costMessage,
  estimatedRuleCostLimit,
  multiplyCost,
  rootPlace,
  type SchemaPlace,
} from "./schema-places.ts";

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"] as const;

const hasLineBreak = (text: string): boolean => /[\n\r]/.test(text);

/** Whether a schema can have rules, in itself or below: most of a large schema are leaves, for which no place is made. */
function hasMembers(schema: Schema): boolean {
  for (const name in schema) if (typeof schema[name as keyof Schema] === "object") return true;
  return false;
}

/** Where the schema is, and what of it to check. */
export interface CheckOptions {
  /** Where the schema stands in the CRD, for example `spec.versions[0].schema.openAPIV3Schema`. */
  readonly path: string;
  /** Paths at which the schema itself is wrong. Rules on or above such a place are not compiled. */
  readonly brokenPaths?: readonly string[];
  /** Looks at the texts only: nothing can be compiled for a schema that is not structural. */
  readonly textsOnly?: boolean;
}

/** Everything that is wrong with the rules of a schema that is about to be stored. */
export function checkRules(schema: Schema, options: CheckOptions): readonly FieldError[] {
  return finish(checkingRules(schema, options));
}

/** {@link checkRules} in parts. */
export function* checkingRules(schema: Schema, options: CheckOptions): Work<readonly FieldError[]> {
  const checker = new SchemaChecker(options);
  yield* checker.checking(schema);
  return checker.errors;
}

class SchemaChecker {
  readonly #path: string;
  readonly #brokenPaths: readonly string[];
  readonly #textErrors: FieldError[] = [];
  readonly #ruleErrors: FieldError[] = [];
  readonly #sound: SchemaPlace[] = [];
  readonly #total: CostTotal = new CostTotal();
  readonly #textsOnly: boolean;

  constructor({ path, brokenPaths = [], textsOnly = false }: CheckOptions) {
    this.#path = path;
    this.#textsOnly = textsOnly;
    this.#brokenPaths = brokenPaths.toSorted((a, b) => (a < b ? -1 : 1));
  }

  get errors(): readonly FieldError[] {
    return [...this.#textErrors, ...this.#ruleErrors, ...this.#total.errors(this.#path)];
  }

  /** Checks all rules of a schema. */
  *checking(schema: Schema): Work<void> {
    yield* this.#checkingTexts(rootPlace(schema, this.#path));
    if (this.#textsOnly) return;
    for (const place of this.#sound) yield* this.#compiling(place);
  }

  /**
   * Checks the texts of a node and of all below it. Returns whether they are in order, without which rules are not
   * compiled.
   */
  *#checkingTexts(place: SchemaPlace): Work<boolean> {
    if (isPartDone()) yield;
    if (place.depth > maxSchemaDepth) {
      this.#textErrors.push(forbiddenValue(place.path, `must not be nested deeper than ${maxSchemaDepth} levels`));
      return false;
    }
    let areChildrenSound = true;
    for (const child of childPlaces(place, (schema) => place.depth >= maxSchemaDepth || hasMembers(schema))) {
      const isChildSound = yield* this.#checkingTexts(child);
      areChildrenSound &&= isChildSound;
    }
    const before = this.#textErrors.length;
    rulesOf(place).forEach((rule, index) => {
      for (const error of checkRuleTexts(rule, rulePath(place, index), place.schema)) this.#textErrors.push(error);
    });
    const isSound = areChildrenSound && this.#textErrors.length === before && !this.#isBroken(place.path);
    if (isSound && place.decl && rulesOf(place).length > 0) this.#sound.push(place);
    return isSound;
  }

  /** Whether something is wrong at a path or below it. What starts with the path stands together in sorted order. */
  #isBroken(path: string): boolean {
    let low = 0;
    let high = this.#brokenPaths.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#brokenPaths[middle] ?? "") < path) low = middle + 1;
      else high = middle;
    }
    return this.#brokenPaths[low]?.startsWith(path) ?? false;
  }

  *#compiling(place: SchemaPlace): Work<void> {
    yield;
    const decl = place.decl?.();
    if (!decl) {
      const field = childPath(place.path, "x-kubernetes-validations");
      const detail =
        "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
      this.#ruleErrors.push(internalFieldError(field, detail));
      return;
    }
    const compiler = new RuleCompiler(place.schema, decl);
    const count = place.count ?? maxCardinality(decl);
    for (const [index, rule] of rulesOf(place).entries()) {
      yield;
      const path = rulePath(place, index);
      this.#report(compiler.compile(rule), { path, count, uncorrelated: place.uncorrelated });
    }
  }

  #report(compiled: CompiledRule, at: { path: string; count: bigint; uncorrelated: string | undefined }): void {
    const field = childPath(at.path, "rule");
    const cost = multiplyCost(compiled.condition?.maxCost ?? 0n, at.count);
    this.#reportCost("estimated rule cost", field, cost);
    if (compiled.error !== undefined)
      this.#ruleErrors.push(invalidPrinted(field, shownRule(compiled.rule), compiled.error));
    this.#reportMessage(compiled, childPath(at.path, "messageExpression"));
    if (compiled.condition?.program.usesOldSelf) {
      if (at.uncorrelated === undefined) return;
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${at.uncorrelated}`;
      this.#ruleErrors.push(invalidValue(field, compiled.rule.rule, detail));
    } else if (compiled.rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      this.#ruleErrors.push(invalidValue(childPath(at.path, "optionalOldSelf"), compiled.rule.optionalOldSelf, detail));
    }
  }

  #reportMessage(compiled: CompiledRule, path: string): void {
    if (compiled.messageError !== undefined) {
      this.#ruleErrors.push(invalidPrinted(path, shownRule(compiled.rule), compiled.messageError));
    } else if (compiled.message) {
      this.#reportCost("estimated messageExpression cost", path, compiled.message.maxCost);
    }
  }

  #reportCost(name: string, path: string, cost: bigint): void {
    if (cost > estimatedRuleCostLimit) {
      this.#ruleErrors.push(forbiddenValue(path, costMessage(name, cost, estimatedRuleCostLimit)));
    }
    this.#total.add(path, cost);
  }
}

const rulesOf = ({ schema }: SchemaPlace): readonly ValidationRule[] => schema["x-kubernetes-validations"] ?? [];

const rulePath = ({ path }: SchemaPlace, index: number): string =>
  keyPath(childPath(path, "x-kubernetes-validations"), index);

/** A rule as messages show it: the JSON of the API server's own type. */
function shownRule(rule: ValidationRule): string {
  const shown = {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
  return printJson(shown, { htmlSafe: true });
}

/** What is wrong with the texts of a rule, before anything is compiled. */
function checkRuleTexts(rule: ValidationRule, path: string, schema: Schema): readonly FieldError[] {
  return [
    ...checkMessage(rule, path),
    ...checkMessageExpression(rule, path),
    ...checkReason(rule, path),
    ...checkFieldPath(rule, path, schema),
  ];
}

function checkMessage({ rule = "", message = "" }: ValidationRule, path: string): readonly FieldError[] {
  const trimmed = trimSpace(message);
  if (trimSpace(rule) === "") return [requiredValue(childPath(path, "rule"), "rule is not specified")];
  const messagePath = childPath(path, "message");
  if (message !== "" && trimmed === "") return [invalidValue(messagePath, message, "must be non-empty if specified")];
  if (hasLineBreak(trimmed)) return [invalidValue(messagePath, message, "must not contain line breaks")];
  if (!hasLineBreak(trimSpace(rule)) || trimmed !== "") return [];
  return [requiredValue(messagePath, "message must be specified if rule contains line breaks")];
}

function checkMessageExpression({ messageExpression = "" }: ValidationRule, path: string): readonly FieldError[] {
  if (messageExpression === "" || trimSpace(messageExpression) !== "") return [];
  return [requiredValue(childPath(path, "messageExpression"), "messageExpression must be non-empty if specified")];
}

function checkReason({ reason }: ValidationRule, path: string): readonly FieldError[] {
  if (reason === undefined || reasons.some((one) => one === reason)) return [];
  return [unsupportedValue(childPath(path, "reason"), reason, reasons)];
}

function checkFieldPath({ fieldPath = "" }: ValidationRule, path: string, schema: Schema): readonly FieldError[] {
  const errors: FieldError[] = [];
  const at = childPath(path, "fieldPath");
  if (fieldPath === "") return errors;
  if (trimSpace(fieldPath) === "") errors.push(invalidValue(at, fieldPath, "must be non-empty if specified"));
  if (hasLineBreak(fieldPath)) errors.push(invalidValue(at, fieldPath, "must not contain line breaks"));
  try {
    resolveFieldPath(fieldPath, schema);
  } catch (problem) {
    if (!(problem instanceof RulePathError)) throw problem;
    errors.push(invalidValue(at, fieldPath, "must be a valid path"));
  }
  return errors;
}
