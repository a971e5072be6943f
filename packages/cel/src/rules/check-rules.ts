// SPDX-License-Identifier: Apache-2.0
import { type DeclType, declare } from "../schema/decl-type.ts";
import { escapeName } from "../schema/escape.ts";
import { type Schema, type ValidationRule, valueSchema } from "../schema/schema.ts";
import { type CompiledRule, maxCardinality, RuleCompiler } from "./compile-rule.ts";
import { CostTotal, costMessage, estimatedRuleCostLimit, multiplyCost } from "./cost-limits.ts";
import { type FieldError, fieldError, forbidden, invalid } from "./field-error.ts";
import { childPath, keyPath } from "./path.ts";
import { checkRuleTexts } from "./rule-texts.ts";

export interface CheckOptions {
  /** Where the schema stands in the CRD, for example `spec.versions[0].schema.openAPIV3Schema`. */
  readonly path: string;
  /** Paths at which the schema itself is wrong. Rules on or above such a place are not compiled. */
  readonly brokenPaths?: readonly string[];
}

/** Everything that is wrong with the rules of a schema that is about to be stored. */
export function checkRules(schema: Schema, { path, brokenPaths = [] }: CheckOptions): readonly FieldError[] {
  const total = new CostTotal();
  const checker = new SchemaChecker(brokenPaths, total);
  checker.check({ schema, path, decl: () => declare(schema, true), count: 1n, isRoot: true });
  return [...checker.textErrors, ...checker.ruleErrors, ...total.errors(path)];
}

/** A schema node on the way through a schema. */
interface Place {
  readonly schema: Schema;
  readonly path: string;
  /** What expressions see of it. Undefined below `allOf` and the like, where rules are not compiled. */
  readonly decl?: (() => DeclType | undefined) | undefined;
  /** How many of its values one object can hold; undefined when nothing bounds it. */
  readonly count?: bigint | undefined;
  readonly isRoot?: boolean;
  /** The place above which an old value cannot be found for a new one. */
  readonly uncorrelated?: string | undefined;
}

class SchemaChecker {
  readonly textErrors: FieldError[] = [];
  readonly ruleErrors: FieldError[] = [];
  readonly #brokenPaths: readonly string[];
  readonly #total: CostTotal;

  constructor(brokenPaths: readonly string[], total: CostTotal) {
    this.#brokenPaths = brokenPaths;
    this.#total = total;
  }

  /** Checks a node and all below it. Returns whether their texts are in order, without which rules are not compiled. */
  check(place: Place): boolean {
    const areChildrenSound = childPlaces(place)
      .map((child) => this.check(child))
      .every(Boolean);
    const rules = place.schema["x-kubernetes-validations"] ?? [];
    if (rules.length === 0) return areChildrenSound && !this.#isBroken(place.path);
    const before = this.textErrors.length;
    rules.forEach((rule, index) => {
      const at = keyPath(childPath(place.path, "x-kubernetes-validations"), index);
      for (const error of checkRuleTexts(rule, at, place.schema)) this.textErrors.push(error);
    });
    const isSound = areChildrenSound && this.textErrors.length === before && !this.#isBroken(place.path);
    if (isSound && place.decl) this.#compile(place, rules);
    return isSound;
  }

  #isBroken(path: string): boolean {
    return this.#brokenPaths.some((broken) => broken.startsWith(path));
  }

  #compile(place: Place, rules: readonly ValidationRule[]): void {
    const decl = place.decl?.();
    if (!decl) {
      const field = childPath(place.path, "x-kubernetes-validations");
      const detail =
        "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
      this.ruleErrors.push(fieldError("InternalError", field, detail));
      return;
    }
    const compiler = new RuleCompiler(place.schema, decl);
    const count = place.count ?? maxCardinality(decl);
    rules.forEach((rule, index) => {
      const path = keyPath(childPath(place.path, "x-kubernetes-validations"), index);
      const compiled = compiler.compile(rule);
      this.#report(compiled, { path, count, uncorrelated: place.uncorrelated });
    });
  }

  #report(compiled: CompiledRule, at: { path: string; count: bigint; uncorrelated: string | undefined }): void {
    const rulePath = childPath(at.path, "rule");
    const cost = multiplyCost(compiled.condition?.maxCost ?? 0n, at.count);
    this.#reportCost("estimated rule cost", rulePath, cost);
    if (compiled.error !== undefined) this.ruleErrors.push(invalid(rulePath, shownRule(compiled.rule), compiled.error));
    this.#reportMessage(compiled, childPath(at.path, "messageExpression"));
    if (compiled.condition?.program.usesOldSelf) {
      if (at.uncorrelated === undefined) return;
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${at.uncorrelated}`;
      this.ruleErrors.push(invalid(rulePath, compiled.rule.rule, detail));
    } else if (compiled.rule.optionalOldSelf !== undefined) {
      const detail = "may not be set if oldSelf is not used in rule";
      this.ruleErrors.push(invalid(childPath(at.path, "optionalOldSelf"), compiled.rule.optionalOldSelf, detail));
    }
  }

  #reportMessage(compiled: CompiledRule, path: string): void {
    if (compiled.messageError !== undefined) {
      this.ruleErrors.push(invalid(path, shownRule(compiled.rule), compiled.messageError));
    } else if (compiled.message) {
      this.#reportCost("estimated messageExpression cost", path, compiled.message.maxCost);
    }
  }

  #reportCost(name: string, path: string, cost: bigint): void {
    if (cost > estimatedRuleCostLimit) {
      this.ruleErrors.push(forbidden(path, costMessage(name, cost, estimatedRuleCostLimit)));
    }
    this.#total.add(path, cost);
  }
}

/** A rule as messages show it: in the fields of the API server's own type. */
function shownRule(rule: ValidationRule): unknown {
  return {
    Rule: rule.rule,
    Message: rule.message ?? "",
    MessageExpression: rule.messageExpression ?? "",
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? "",
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}

function childPlaces(place: Place): readonly Place[] {
  const { schema, path, uncorrelated } = place;
  const count = multiplied(place.count, elementBound(schema));
  const children: Place[] = [];
  const values = valueSchema(schema);
  if (values) {
    const decl = inherited(place, values, (parent) => parent.element);
    children.push({ schema: values, path: childPath(path, "additionalProperties"), decl, count, uncorrelated });
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const decl = inherited(place, property, (parent) => parent.fields?.get(escapeName(name) ?? ""));
    children.push({ schema: property, path: keyPath(childPath(path, "properties"), name), decl, count, uncorrelated });
  }
  for (const [index, part] of (schema.allOf ?? []).entries()) {
    children.push({ schema: part, path: keyPath(childPath(path, "allOf"), index), uncorrelated });
  }
  if (schema.items) {
    const decl = inherited(place, schema.items, (parent) => parent.element);
    // Only in a list of type map does an element have an old one.
    const isCorrelated = schema["x-kubernetes-list-type"] === "map";
    const within = isCorrelated ? uncorrelated : (uncorrelated ?? path);
    children.push({ schema: schema.items, path: childPath(path, "items"), decl, count, uncorrelated: within });
  }
  return children;
}

/** A child seen through its parent, or by itself where the parent does not show it. */
function inherited(
  { decl }: Place,
  schema: Schema,
  read: (parent: DeclType) => DeclType | undefined,
): (() => DeclType | undefined) | undefined {
  if (!decl) return undefined;
  return () => {
    const parent = decl();
    return (parent && read(parent)) ?? declare(schema, schema["x-kubernetes-embedded-resource"] === true);
  };
}

/** By how much a node multiplies the values below it; undefined when it is unbounded. */
function elementBound(schema: Schema): bigint | undefined {
  const notNegative = (bound: number | bigint | undefined): bigint | undefined =>
    bound === undefined ? undefined : BigInt(bound) < 0n ? 0n : BigInt(bound);
  if (schema.type === "array") return notNegative(schema.maxItems);
  const isMap = schema.type === "object" && schema.additionalProperties !== undefined;
  return isMap ? notNegative(schema.maxProperties) : 1n;
}

function multiplied(count: bigint | undefined, bound: bigint | undefined): bigint | undefined {
  return count === undefined || bound === undefined ? undefined : multiplyCost(count, bound);
}
