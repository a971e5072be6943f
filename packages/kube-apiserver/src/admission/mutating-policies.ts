// SPDX-License-Identifier: Apache-2.0
// Mutating admission policies: each policy with each of its bindings and each of their parameters is one invocation.
import { type AwaitingWork, awaited, type Work } from "@purlin/base";
import { ExpressionBudget, type ExpressionValues, evaluatePatch, untypedValue, VariableValues } from "@purlin/cel";
import { type ApplyType, mergeUnowned } from "@purlin/kube-objects/apply";
import { forbidden, internalError, type Status, StatusError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import type { PolicyOutcome } from "../metrics/admission-metrics.ts";
import { metaOf } from "../objects/object-members.ts";
import type { ResourceType } from "../registry/registry.ts";
import type { AdmissionAttributes } from "./admission.ts";
import type { ReviewedWrite } from "./admission-review.ts";
import { expressionValues, ParamError, paramsOf } from "./expression-values.ts";
import { conditionsHold } from "./match-rules.ts";
import type { Policy, PolicyBinding, PolicyMutation } from "./policy.ts";
import {
  conditionLabels,
  type Denial,
  errorTypeOf,
  isMatched,
  type PolicyDeps,
  reviewed,
  type SelectedPolicy,
  typeOfParams,
  unconfigured,
} from "./validating-policies.ts";
import { type Reinvocation, requireReinvocation } from "./webhook-dispatch.ts";
import { patchedByPolicy } from "./webhook-patch.ts";

/** What the evaluation of mutating policies depends on. */
export interface MutatingPolicyDeps extends PolicyDeps {
  /** Decodes an object that a policy changed, with defaults. */
  readonly decode: (object: JsonObject, type: ResourceType) => Work<JsonObject>;
  /** How the objects of a write are merged. */
  readonly applyType: (object: JsonObject, type: ResourceType) => ApplyType;
}

type NewObject = AdmissionAttributes & { readonly object: JsonObject };

/** The round of mutating admission: in the second one only invocations that are due again are made. */
interface PolicyRound {
  readonly reinvocation: Reinvocation;
  readonly isSecond: boolean;
}

interface Invocation {
  readonly policy: Policy;
  readonly binding: PolicyBinding;
  readonly type: ResourceType;
  readonly param: JsonObject | undefined;
  readonly key: string;
}

const mutationBudget = 10_000_000;

/** The object after all mutating policies. Throws 403 when one of them fails and must not be ignored. */
export function* mutateByPolicies(
  policies: readonly SelectedPolicy[],
  attributes: NewObject,
  { deps, reinvocation, isSecond }: PolicyRound & { readonly deps: MutatingPolicyDeps },
): AwaitingWork<JsonObject> {
  const denials: Denial[] = [];
  const invocations = yield* invocationsOf(policies, { attributes, denials }, deps);
  let { object } = attributes;
  for (const invocation of invocations) {
    if (!(yield* isInvoked(invocation, { attributes: { ...attributes, object }, denials }, deps))) continue;
    if (isSecond && !reinvocation.due.has(invocation.key)) continue;
    const before = object;
    for (const mutation of invocation.policy.expressions().mutations) {
      const step: MutationStep = { invocation, mutation, attributes: { ...attributes, object } };
      object = yield* mutated(step, denials, deps);
      yield;
    }
    if (object !== before && !jsonEqual(object, before)) requireReinvocation(reinvocation);
    if (invocation.policy.isReinvoked) reinvocation.invoked.add(invocation.key);
  }
  if (denials.length > 0) throw deniedByPolicies(attributes, denials);
  return object;
}

interface Matching {
  readonly attributes: NewObject;
  readonly denials: Denial[];
}

/** What is invoked: selectors and rules see the object as it was before all policies. */
function* invocationsOf(
  policies: readonly SelectedPolicy[],
  { attributes, denials }: Matching,
  deps: MutatingPolicyDeps,
): AwaitingWork<readonly Invocation[]> {
  const found: Invocation[] = [];
  for (const { policy, type } of policies) {
    if (!isMatched(policy.match, attributes, deps)) continue;
    const params = typeOfParams(policy, deps);
    if (params instanceof ParamError) {
      if (!policy.ignoresFailure) denials.push({ ...unconfigured(policy, undefined, params), reason: "Forbidden" });
      continue;
    }
    for (const binding of policy.bindings) {
      if (binding.match !== undefined && !isMatched(binding.match, attributes, deps)) continue;
      try {
        for (const param of yield* paramsOf(binding, { type: params, attributes }, deps)) {
          const { namespace = "", name = "" } = metaOf(param ?? {});
          const key = [policy.name, binding.name, namespace, name].join("/");
          found.push({ policy, binding, type, param, key });
        }
      } catch (error) {
        if (!(error instanceof ParamError)) throw error;
        if (!policy.ignoresFailure) denials.push({ ...unconfigured(policy, binding, error), reason: "Forbidden" });
      }
    }
  }
  return found;
}

/** Whether the conditions of a policy hold for the object as the policies before it left it. */
function* isInvoked(
  { policy, binding, type, param }: Invocation,
  { attributes, denials }: Matching,
  deps: MutatingPolicyDeps,
): AwaitingWork<boolean> {
  const { conditions } = policy.expressions();
  if (conditions.length === 0) return true;
  const write = yield* reviewed(attributes, type, deps);
  const values = { ...expressionValues(write, deps), params: untypedValue(param ?? null) };
  const holds = yield* conditionsHold(conditions, values, deps.metrics.conditions(conditionLabels(policy, attributes)));
  if (typeof holds === "boolean") return holds;
  const denial = { policy: policy.name, binding: binding.name, message: holds.error, reason: "Invalid" };
  if (!policy.ignoresFailure) denials.push(denial);
  return false;
}

interface MutationStep {
  readonly invocation: Invocation;
  readonly mutation: PolicyMutation;
  readonly attributes: NewObject;
}

/** The object after one mutation; the same object when the mutation does not apply, or fails. */
function* mutated(step: MutationStep, denials: Denial[], deps: MutatingPolicyDeps): AwaitingWork<JsonObject> {
  const { invocation, mutation, attributes } = step;
  const { policy, binding, type } = invocation;
  const write = yield* reviewed(attributes, type, deps);
  const start = performance.now();
  const observe = (error: PolicyOutcome["error"]): void => {
    const seconds = (performance.now() - start) / 1000;
    deps.metrics.mutation({ policy: policy.name, binding: binding.name, error, seconds });
  };
  try {
    const next = yield* patched({ write, mutation, invocation }, deps);
    observe("no_error");
    if (next === undefined) return attributes.object;
    const decoded = yield* decodedBy(deps, next, type);
    return type === attributes.type ? decoded : yield* awaited(deps.convert(decoded, type, attributes.type));
  } catch (error) {
    if (!(error instanceof Error) || error instanceof StatusError) throw error;
    observe(errorTypeOf(error.message));
    const denial = { policy: policy.name, binding: binding.name, message: error.message, reason: "Invalid" };
    if (!policy.ignoresFailure) denials.push(denial);
    return attributes.object;
  }
}

/** A patch whose result is not an object of the type is an error of the server, whatever the policy says about failures. */
function* decodedBy({ decode }: MutatingPolicyDeps, object: JsonObject, type: ResourceType): Work<JsonObject> {
  try {
    return yield* decode(object, type);
  } catch (error) {
    throw error instanceof StatusError ? error : internalError(error);
  }
}

interface Patching {
  readonly write: ReviewedWrite;
  readonly mutation: PolicyMutation;
  readonly invocation: Invocation;
}

/** The patched object; undefined when there is no object. Throws an Error with the text of the reference. */
function* patched(
  { write, mutation, invocation }: Patching,
  deps: MutatingPolicyDeps,
): AwaitingWork<JsonObject | undefined> {
  const { variables } = invocation.policy.expressions();
  const values = { ...expressionValues(write, deps), params: untypedValue(invocation.param ?? null) };
  const budget = new ExpressionBudget(mutationBudget);
  const all = { ...values, variables: new VariableValues(variables, values, budget) };
  const value = yield* evaluated(mutation, all, budget);
  const { object } = write;
  if (object === undefined) return undefined;
  if (mutation.patchType === "JSONPatch") {
    const result = yield* patchedByPolicy(object, operations(value));
    return isJsonObject(result) ? result : {};
  }
  const patch = { ...(value as JsonObject), apiVersion: object["apiVersion"] ?? "", kind: object["kind"] ?? "" };
  return merged(deps.applyType(object, write.type), object, patch);
}

function* evaluated(mutation: PolicyMutation, values: ExpressionValues, budget: ExpressionBudget): Work<unknown> {
  const { expression, text } = mutation;
  if (expression === undefined) throw new Error(`expression '${text}' resulted in error: compilation failed`);
  const outcome = yield* evaluatePatch(expression, values, budget);
  if ("error" in outcome) throw new Error(outcome.error);
  return outcome.value;
}

function merged(type: ApplyType, object: JsonObject, patch: JsonObject): JsonObject {
  try {
    return mergeUnowned(type, object, patch);
  } catch (error) {
    throw new Error(`error applying patch: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

/** The operations of a JSON patch; members that were not set are absent. */
function operations(value: unknown): readonly JsonObject[] {
  return (value as readonly JsonObject[]).map(({ op = "", path = "", from = "", value: set }) => ({
    op,
    path,
    ...(from !== "" && { from }),
    ...(set !== undefined && { value: set as JsonValue }),
  }));
}

function deniedByPolicies({ type, name }: AdmissionAttributes, denials: readonly Denial[]): StatusError {
  const { status } = forbidden(type, name, "admission request denied by policy");
  const texts = denials.map(({ policy, binding, message }) =>
    binding === undefined
      ? `policy ${JSON.stringify(policy)} denied request: ${message}`
      : `policy '${policy}' with binding '${binding}' denied request: ${message}`,
  );
  return new StatusError({
    ...status,
    message: texts[0] ?? "",
    reason: denials[0]?.reason ?? "Invalid",
    details: { ...status.details, causes: texts.map((message) => ({ message })) },
  } as Status);
}
