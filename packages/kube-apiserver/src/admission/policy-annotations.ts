// SPDX-License-Identifier: Apache-2.0
// What validating admission policies write to the audit log.
import { ExpressionBudget, type ExpressionValues, evaluateAdmission } from "@purlin/cel";
import { printJson } from "@purlin/kube-objects/json";
import type { AdmissionAttributes } from "./admission.ts";
import type { Policy, PolicyBinding } from "./policy.ts";

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
export function collectAnnotations(
  policy: Policy,
  values: ExpressionValues,
  into: PolicyAnnotations,
): readonly string[] {
  const errors: string[] = [];
  const budget = new ExpressionBudget(annotationBudget);
  for (const { key, expression } of policy.expressions().annotations) {
    if (expression === undefined) continue;
    const outcome = evaluateAdmission(expression, values, budget);
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
