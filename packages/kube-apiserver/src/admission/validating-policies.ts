// SPDX-License-Identifier: Apache-2.0
// Validating admission policies: each policy with each of its bindings and each of their parameters is one evaluation.

import { type AwaitingWork, awaited, type Work } from "@purlin/base";
import {
  ExpressionBudget,
  type ExpressionValues,
  evaluateAdmission,
  outOfBudget,
  untypedValue,
  VariableValues,
} from "@purlin/cel";
import { forbidden, type Status, StatusError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { AdmissionMetrics, ConditionLabels, PolicyOutcome } from "../metrics/admission-metrics.ts";
import { metaOf } from "../objects/object-members.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { AdmissionAttributes } from "./admission.ts";
import type { ReviewedWrite } from "./admission-review.ts";
import { matchedType, namespaceSelected, objectSelected } from "./admission-webhook.ts";
import {
  type ExpressionDeps,
  expressionValues,
  type ParamDeps,
  ParamError,
  paramsOf,
  paramType,
} from "./expression-values.ts";
import { conditionsHold, type ObserveConditions } from "./match-rules.ts";
import {
  annotateFailure,
  collectAnnotations,
  type Policy,
  PolicyAnnotations,
  type PolicyBinding,
  type PolicyMatch,
  type PolicyValidation,
} from "./policy.ts";

/** What the evaluation of policies depends on. */
export interface PolicyDeps extends ExpressionDeps, ParamDeps {
  readonly metrics: AdmissionMetrics;
  readonly convert: (object: JsonObject, from: ResourceType, to: ResourceType) => Promise<JsonObject>;
}

/** A policy that can concern a class of writes, and the type in which it sees the objects. */
export interface SelectedPolicy {
  readonly policy: Policy;
  readonly type: ResourceType;
}

/** A validation that failed. */
export interface Denial {
  readonly policy: string;
  readonly binding: string | undefined;
  readonly message: string;
  readonly reason: string;
}

const bindingBudget = 10_000_000;
const maxMessageBytes = 5 * 1024;

/** Evaluates policies for a write. Throws the first denial. */
export function* evaluatePolicies(
  policies: readonly SelectedPolicy[],
  attributes: AdmissionAttributes,
  deps: PolicyDeps,
): AwaitingWork<void> {
  const denials: Denial[] = [];
  const annotations = new PolicyAnnotations();
  for (const { policy, type } of policies) {
    if (!isMatched(policy.match, attributes, deps)) continue;
    const params = typeOfParams(policy, deps);
    if (params instanceof ParamError) {
      if (!policy.ignoresFailure) denials.push(unconfigured(policy, undefined, params));
      continue;
    }
    for (const binding of policy.bindings) {
      if (binding.match !== undefined && !isMatched(binding.match, attributes, deps)) continue;
      yield* evaluateBinding(
        { policy, binding, write: yield* reviewed(attributes, type, deps), params, denials, annotations },
        deps,
      );
      yield;
    }
  }
  annotations.publish(attributes);
  const [first] = denials;
  if (first !== undefined) throw deniedByPolicy(attributes, first);
}

/** Whether a policy or a binding selects a write. */
export function isMatched(match: PolicyMatch, attributes: AdmissionAttributes, deps: PolicyDeps): boolean {
  if (!namespaceSelected(match.namespaceSelector, attributes, deps.store)) return false;
  if (!objectSelected(match.objectSelector, attributes)) return false;
  const named = (rules: PolicyMatch["rules"]): PolicyMatch["rules"] =>
    rules.filter(({ resourceNames }) => resourceNames.length === 0 || resourceNames.includes(attributes.name));
  const { isEquivalent } = match;
  const catalog = deps.catalog();
  if (match.excluded.length > 0) {
    const excluded = { rules: named(match.excluded), isEquivalent };
    if (matchedType(excluded, attributes, catalog) !== undefined) return false;
  }
  if (match.rules.length === 0) return true;
  return matchedType({ rules: named(match.rules), isEquivalent }, attributes, catalog) !== undefined;
}

/** The type of the parameters of a policy, or why it cannot be found. */
export function typeOfParams(policy: Policy, deps: PolicyDeps): ResourceType | undefined | ParamError {
  try {
    return paramType(policy, deps.catalog());
  } catch (error) {
    if (error instanceof ParamError) return error;
    throw error;
  }
}

/** The denial by a policy whose parameters cannot be found. */
export function unconfigured(policy: Policy, binding: PolicyBinding | undefined, { message }: ParamError): Denial {
  const what = binding === undefined ? "policy" : "binding";
  return {
    policy: policy.name,
    binding: binding?.name,
    message: `failed to configure ${what}: ${message}`,
    reason: "Invalid",
  };
}

/** A write in the version that a policy sees. */
export function* reviewed(
  attributes: AdmissionAttributes,
  type: ResourceType,
  deps: PolicyDeps,
): AwaitingWork<ReviewedWrite> {
  const { object, old } = attributes;
  const shown = function* (one: JsonObject | undefined): AwaitingWork<JsonObject | undefined> {
    if (one === undefined || type === attributes.type) return one;
    return yield* awaited(deps.convert(one, attributes.type, type));
  };
  return { attributes, type, object: yield* shown(object), old: yield* shown(old) };
}

interface BindingEvaluation {
  readonly policy: Policy;
  readonly binding: PolicyBinding;
  readonly write: ReviewedWrite;
  readonly params: ResourceType | undefined;
  readonly denials: Denial[];
  readonly annotations: PolicyAnnotations;
}

function* evaluateBinding(evaluation: BindingEvaluation, deps: PolicyDeps): AwaitingWork<void> {
  const { policy, binding, write, params, denials, annotations } = evaluation;
  const { attributes } = write;
  const values = expressionValues(write, deps);
  const budget = new ExpressionBudget(bindingBudget);
  const observeConditions = deps.metrics.conditions(conditionLabels(policy, attributes));
  try {
    for (const param of yield* paramsOf(binding, { type: params, attributes }, deps)) {
      const withParams = { ...values, params: untypedValue(param ?? null) };
      const { failures, errors } = yield* evaluateOnce(policy, withParams, { budget, annotations, observeConditions });
      const { name } = policy;
      for (const failure of failures) report({ policy: name, ...failure }, { binding, attributes, denials, deps });
      for (const message of errors) {
        denials.push({ policy: name, binding: binding.name, message, reason: "Invalid" });
        deps.metrics.validation(
          { policy: name, binding: binding.name, error: errorTypeOf(message), seconds: 0 },
          "deny",
        );
      }
      yield;
    }
  } catch (error) {
    if (!(error instanceof ParamError)) throw error;
    if (!policy.ignoresFailure) denials.push(unconfigured(policy, binding, error));
  }
}

/** The labels of the match conditions of a policy. Mutating policies have the type of validating ones, as in the reference. */
export function conditionLabels(policy: Policy, { operation }: AdmissionAttributes): ConditionLabels {
  return { name: policy.name, kind: "policy", type: "validate", operation };
}

interface Reporting {
  readonly binding: PolicyBinding;
  readonly attributes: AdmissionAttributes;
  readonly denials: Denial[];
  readonly deps: PolicyDeps;
}

function report(
  { isIgnored, seconds, ...failure }: Failure & { readonly policy: string },
  { binding, attributes, denials, deps }: Reporting,
): void {
  const { policy, message } = failure;
  const outcome = { policy, binding: binding.name, error: errorTypeOf(message), seconds };
  if (isIgnored) {
    deps.metrics.validation(outcome, "allow");
    return;
  }
  if (binding.actions.includes("Deny")) {
    denials.push({ ...failure, binding: binding.name });
    deps.metrics.validation(outcome, "deny");
  }
  if (binding.actions.includes("Audit")) {
    annotateFailure(attributes, binding, failure);
    deps.metrics.validation(outcome, "audit");
  }
  if (binding.actions.includes("Warn")) {
    const of = `ValidatingAdmissionPolicy '${policy}' with binding '${binding.name}'`;
    attributes.warn(`Validation failed for ${of}: ${message}`);
    deps.metrics.validation(outcome, "warn");
  }
}

/** What the metrics of the reference call a failure. They decide by its text, and call a false validation an error too. */
export function errorTypeOf(message: string): PolicyOutcome["error"] {
  if (message.startsWith("compilation")) return "compile_error";
  return message.startsWith("validation failed due to running out of cost budget") ? "out_of_budget" : "invalid_error";
}

/** A validation that failed, and its place in the policy. */
type Failure = Pick<Denial, "message" | "reason"> & {
  readonly index: number;
  /** The validation could not be evaluated, and the policy allows that. */
  readonly isIgnored: boolean;
  /** How long the evaluation took. */
  readonly seconds: number;
};

interface Evaluating {
  readonly observeConditions: ObserveConditions;
  readonly budget: ExpressionBudget;
  readonly annotations: PolicyAnnotations;
}

interface Evaluated {
  readonly failures: readonly Failure[];
  /** The errors of audit annotations, which deny the write. */
  readonly errors: readonly string[];
}

/** The validations of a policy that fail. Collects its audit annotations. */
function* evaluateOnce(policy: Policy, values: ExpressionValues, evaluating: Evaluating): Work<Evaluated> {
  const { budget, annotations, observeConditions } = evaluating;
  const { conditions, variables } = policy.expressions();
  const holds = yield* conditionsHold(conditions, values, observeConditions);
  if (holds !== true) {
    const isDenied = holds !== false && !policy.ignoresFailure;
    return { failures: isDenied ? [errored(policy, holds.error, {})] : [], errors: [] };
  }
  const all = { ...values, variables: new VariableValues(variables, values, budget) };
  const failures = yield* failedValidations(policy, all, budget);
  const errors = yield* collectAnnotations(policy, all, annotations);
  return { failures, errors: policy.ignoresFailure ? [] : errors };
}

function errored(policy: Policy, message: string, { index = 0, seconds = 0 }): Failure {
  return { message, reason: "Invalid", index, isIgnored: policy.ignoresFailure, seconds };
}

function* failedValidations(policy: Policy, values: ExpressionValues, budget: ExpressionBudget): Work<Failure[]> {
  const found: Failure[] = [];
  for (const [index, validation] of policy.expressions().validations.entries()) {
    if (budget.left < 0) return [...found, errored(policy, outOfBudget, { index })];
    if (validation.expression === undefined) {
      const why = `expression '${validation.text}' resulted in error: compilation failed`;
      found.push(errored(policy, why, { index }));
      continue;
    }
    yield;
    const start = performance.now();
    const outcome = yield* evaluateAdmission(validation.expression, values, budget);
    const seconds = (performance.now() - start) / 1000;
    if (!("error" in outcome)) {
      if (outcome.value !== true) {
        found.push({ ...(yield* falseFailure(validation, values, budget)), index, isIgnored: false, seconds });
      }
      continue;
    }
    found.push(errored(policy, outcome.error, { index, seconds }));
    if (outcome.isFinal) break;
  }
  return found;
}

function* falseFailure(
  validation: PolicyValidation,
  values: ExpressionValues,
  budget: ExpressionBudget,
): Work<Pick<Denial, "message" | "reason">> {
  const { messageExpression, message, text, reason } = validation;
  const outcome = messageExpression && (yield* evaluateAdmission(messageExpression, values, budget));
  const made = outcome !== undefined && "value" in outcome && typeof outcome.value === "string" ? outcome.value : "";
  const trimmed = made.trim();
  const isUsable = trimmed !== "" && !trimmed.includes("\n") && Buffer.byteLength(trimmed) <= maxMessageBytes;
  return { message: isUsable ? trimmed : message.trim() || `failed expression: ${text.trim()}`, reason };
}

const codes: Readonly<Record<string, number>> = {
  Unauthorized: 401,
  Forbidden: 403,
  RequestEntityTooLarge: 413,
  Invalid: 422,
};

function deniedByPolicy({ type, name, object }: AdmissionAttributes, denial: Denial): StatusError {
  const { policy, binding, message, reason } = denial;
  const bound = binding === undefined ? "" : ` with binding '${binding}'`;
  const text = `ValidatingAdmissionPolicy '${policy}'${bound} denied request: ${message}`;
  const shown = name === "" ? (metaOf(object ?? {}).generateName ?? "") : name;
  const { status } = forbidden(type, shown, text);
  return new StatusError({
    ...status,
    reason,
    code: codes[reason] ?? 422,
    details: { ...status.details, causes: [{ message: text }] },
  } as Status);
}
