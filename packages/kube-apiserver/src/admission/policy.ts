// SPDX-License-Identifier: Apache-2.0
// Admission policies, validating and mutating, as they are compiled from the store.
// What validating admission policies write to the audit log.
import type { Work } from "@purlin/base";
import {
  type AdmissionExpression,
  type AdmissionScope,
  compileAdmissionExpression,
  ExpressionBudget,
  type ExpressionValues,
  evaluateAdmission,
  type PolicyVariable,
} from "@purlin/cel";
import { isJsonObject, type JsonObject, printJson } from "@purlin/kube-objects/json";
import { memberAt, objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { metaOf } from "../objects/object-members.ts";
import type { AdmissionAttributes } from "./admission.ts";
import { type OperationRule, operationRule, type Selector, selectorAt } from "./admission-webhook.ts";
import { compileConditions } from "./match-rules.ts";

/** What a policy or a binding selects. */
export interface PolicyMatch {
  readonly rules: readonly OperationRule[];
  readonly excluded: readonly OperationRule[];
  readonly isEquivalent: boolean;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
}

/** One validation of a policy. */
export interface PolicyValidation {
  readonly text: string;
  readonly expression: AdmissionExpression | undefined;
  readonly message: string;
  readonly messageExpression: AdmissionExpression | undefined;
  readonly reason: string;
}

/** One mutation of a policy. */
export interface PolicyMutation {
  readonly patchType: "ApplyConfiguration" | "JSONPatch";
  readonly text: string;
  readonly expression: AdmissionExpression | undefined;
}

/** One audit annotation of a policy. */
interface PolicyAnnotation {
  readonly key: string;
  readonly expression: AdmissionExpression | undefined;
}

/** A policy, apart from its expressions. */
export interface Policy {
  readonly name: string;
  readonly match: PolicyMatch;
  readonly ignoresFailure: boolean;
  /** A mutating policy is evaluated again when the object has changed since. */
  readonly isReinvoked: boolean;
  readonly paramKind: { readonly apiVersion: string; readonly kind: string } | undefined;
  readonly bindings: readonly PolicyBinding[];
  /** Compiled when they are first needed. */
  readonly expressions: () => PolicyExpressions;
}

/** The compiled expressions of a policy. */
interface PolicyExpressions {
  readonly conditions: ReturnType<typeof compileConditions>;
  readonly variables: readonly PolicyVariable[];
  readonly validations: readonly PolicyValidation[];
  readonly mutations: readonly PolicyMutation[];
  readonly annotations: readonly PolicyAnnotation[];
}

/** A binding of a policy. */
export interface PolicyBinding {
  readonly name: string;
  readonly match: PolicyMatch | undefined;
  readonly paramRef: JsonObject | undefined;
  readonly actions: readonly string[];
}

/** What a `matchConstraints` or `matchResources` selects. */
function policyMatch(match: JsonObject): PolicyMatch {
  return {
    rules: objectsAt(match, ["resourceRules"]).map(operationRule),
    excluded: objectsAt(match, ["excludeResourceRules"]).map(operationRule),
    isEquivalent: stringAt(match, ["matchPolicy"]) !== "Exact",
    namespaceSelector: selectorAt(match, "namespaceSelector"),
    objectSelector: selectorAt(match, "objectSelector"),
  };
}

/** The policies that have bindings, by name. */
export function policiesOf(policies: readonly JsonObject[], bindings: readonly JsonObject[]): Policy[] {
  const byPolicy = Map.groupBy(bindings, (binding) => stringAt(binding, ["spec", "policyName"]));
  return policies.flatMap((policy) => {
    const { name = "" } = metaOf(policy);
    const own = byPolicy.get(name) ?? [];
    return own.length === 0 ? [] : [policyOf(name, objectAt(policy, ["spec"]), own.map(bindingOf))];
  });
}

function policyOf(name: string, spec: JsonObject, bindings: readonly PolicyBinding[]): Policy {
  const paramKind = memberAt(spec, ["paramKind"]);
  let expressions: PolicyExpressions | undefined;
  return {
    name,
    match: policyMatch(objectAt(spec, ["matchConstraints"])),
    ignoresFailure: stringAt(spec, ["failurePolicy"]) === "Ignore",
    isReinvoked: stringAt(spec, ["reinvocationPolicy"]) === "IfNeeded",
    paramKind: isJsonObject(paramKind)
      ? { apiVersion: stringAt(paramKind, ["apiVersion"]), kind: stringAt(paramKind, ["kind"]) }
      : undefined,
    bindings,
    expressions: () => {
      expressions ??= compilePolicy(spec);
      return expressions;
    },
  };
}

function bindingOf(binding: JsonObject): PolicyBinding {
  const match = optionalObjectAt(binding, ["spec", "matchResources"]);
  return {
    name: metaOf(binding).name ?? "",
    match: match && policyMatch(match),
    paramRef: optionalObjectAt(binding, ["spec", "paramRef"]),
    actions: textsAt(binding, ["spec", "validationActions"]),
  };
}

function mutationOf(mutation: JsonObject, scope: AdmissionScope): PolicyMutation {
  const patchType = stringAt(mutation, ["patchType"]) === "JSONPatch" ? "JSONPatch" : "ApplyConfiguration";
  const text = stringAt(mutation, [patchType === "JSONPatch" ? "jsonPatch" : "applyConfiguration", "expression"]);
  return { patchType, text, expression: compiled(text, { ...scope, hasPatchTypes: true }, mutationTypes[patchType]) };
}

/** The types that the expressions of mutations have. */
export const mutationTypes: Readonly<Record<PolicyMutation["patchType"], readonly string[]>> = {
  ApplyConfiguration: ["Object"],
  JSONPatch: ["list(JSONPatch)"],
};

function compiled(
  text: string,
  scope: AdmissionScope,
  types: readonly string[] | "any",
): AdmissionExpression | undefined {
  const expression = compileAdmissionExpression(text, scope, types);
  return "problem" in expression ? undefined : expression;
}

/** Expressions were checked when the policy was written; a validation that does not compile all the same fails. */
function compilePolicy(spec: JsonObject): PolicyExpressions {
  const hasParams = memberAt(spec, ["paramKind"]) !== undefined;
  const base: AdmissionScope = { hasParams, hasAuthorizer: true, hasNamespace: true };
  const variables: PolicyVariable[] = [];
  const types = new Map<string, AdmissionExpression["type"]>();
  for (const one of objectsAt(spec, ["variables"])) {
    const name = stringAt(one, ["name"]);
    const expression = compiled(stringAt(one, ["expression"]), { ...base, variables: new Map(types) }, "any");
    if (expression === undefined) continue;
    variables.push({ name, expression });
    types.set(name, expression.type);
  }
  const scope = { ...base, variables: types };
  const messageScope = { ...scope, hasAuthorizer: false };
  return {
    conditions: compileConditions(objectsAt(spec, ["matchConditions"]), base),
    variables,
    validations: objectsAt(spec, ["validations"]).map((one) => {
      const messageExpression = stringAt(one, ["messageExpression"]);
      return {
        text: stringAt(one, ["expression"]),
        expression: compiled(stringAt(one, ["expression"]), scope, ["bool"]),
        message: stringAt(one, ["message"]),
        messageExpression: messageExpression === "" ? undefined : compiled(messageExpression, messageScope, ["string"]),
        reason: stringAt(one, ["reason"]) || "Invalid",
      };
    }),
    mutations: objectsAt(spec, ["mutations"]).map((one) => mutationOf(one, scope)),
    annotations: objectsAt(spec, ["auditAnnotations"]).map((one) => ({
      key: stringAt(one, ["key"]),
      expression: compiled(stringAt(one, ["valueExpression"]), scope, ["string", "null"]),
    })),
  };
}

const annotationBudget = 10_000_000;
const maxValueBytes = 10 * 1024;

/** The audit annotations of the policies of one write. Values of several bindings are joined. */
export class PolicyAnnotations {
  readonly #values = new Map<string, Set<string>>();

  add(key: string, value: string): void {
    const known = this.#values.get(key) ?? new Set();
    this.#values.set(key, known.add(value));
  }

  publish({ annotate }: Pick<AdmissionAttributes, "annotate">): void {
    for (const [key, values] of this.#values) annotate(key, [...values].join(", "));
  }
}

/** Evaluates the audit annotations of a policy. Returns the errors of those that fail. */
export function* collectAnnotations(
  policy: Policy,
  values: ExpressionValues,
  into: PolicyAnnotations,
): Work<readonly string[]> {
  const errors: string[] = [];
  const budget = new ExpressionBudget(annotationBudget);
  for (const { key, expression } of policy.expressions().annotations) {
    if (expression === undefined) continue;
    yield;
    const outcome = yield* evaluateAdmission(expression, values, budget);
    if ("error" in outcome) {
      errors.push(outcome.error);
      continue;
    }
    const text = typeof outcome.value === "string" ? outcome.value.trim() : "";
    if (text !== "") into.add(`${policy.name}/${key}`, cut(text));
  }
  return errors;
}

function cut(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length <= maxValueBytes ? text : bytes.subarray(0, maxValueBytes).toString();
}

/** Logs a validation that failed under a binding with the action Audit. */
export function annotateFailure(
  { annotate }: Pick<AdmissionAttributes, "annotate">,
  { name: binding, actions }: PolicyBinding,
  failure: { readonly policy: string; readonly message: string; readonly index: number },
): void {
  const { message, policy, index: expressionIndex } = failure;
  const value = [{ message, policy, binding, expressionIndex, validationActions: [...actions] }];
  annotate("validation.policy.admission.k8s.io/validation_failure", printJson(value, { htmlSafe: true }));
}
