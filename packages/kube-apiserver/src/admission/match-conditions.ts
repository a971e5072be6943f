// SPDX-License-Identifier: Apache-2.0
import {
  type AdmissionExpression,
  type AdmissionScope,
  compileAdmissionExpression,
  ExpressionBudget,
  type ExpressionValues,
  evaluateAdmission,
} from "@purlin/cel";
import { duplicateValue, type FieldError, invalidValue, requiredValue, tooMany } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { stringAt } from "@purlin/kube-objects/object";
import { type Check, listAt } from "../objects/checks.ts";

/** A compiled match condition, or why it does not compile. */
type MatchCondition = AdmissionExpression | { readonly problem: string };

const budgetOfConditions = 2_500_000;

/** Compiles match conditions. */
export function compileConditions(conditions: readonly JsonObject[], scope: AdmissionScope): readonly MatchCondition[] {
  return conditions.map((one) => compileAdmissionExpression(stringAt(one, ["expression"]), scope, ["bool"]));
}

/** What the match conditions of webhooks can refer to. They see no namespace: the variable is null. */
export const webhookScope: AdmissionScope = { hasAuthorizer: true, hasNamespace: true };

const maxConditions = 64;

/** What is wrong with the match conditions of a webhook. */
export const webhookConditionErrors: Check = (hook, path) => conditionErrors(hook, path, webhookScope);

/** What is wrong with the member `matchConditions` of an object at a path. */
export function conditionErrors(object: JsonObject, path: string, scope: AdmissionScope): FieldError[] {
  const conditions = listAt(object, "matchConditions");
  const names = conditions.map((one) => stringAt(one, ["name"]));
  const at = `${path}.matchConditions`;
  return [
    ...(conditions.length > maxConditions ? [tooMany(at, conditions.length, maxConditions)] : []),
    ...conditions.flatMap((one, index) => {
      const name = names[index] ?? "";
      const isTaken = name !== "" && names.indexOf(name) < index;
      return [
        ...oneConditionErrors(one, `${at}[${index}]`, scope),
        ...(isTaken ? [duplicateValue(`${at}[${index}].name`, name)] : []),
      ];
    }),
  ];
}

function oneConditionErrors(condition: JsonObject, path: string, scope: AdmissionScope): FieldError[] {
  const [name, text] = [stringAt(condition, ["name"]), stringAt(condition, ["expression"]).trim()];
  const compiled = text === "" ? undefined : compileAdmissionExpression(text, scope, ["bool"]);
  return [
    ...(text === "" ? [requiredValue(`${path}.expression`)] : []),
    ...(compiled !== undefined && "problem" in compiled
      ? [invalidValue(`${path}.expression`, text, compiled.problem)]
      : []),
    ...(name === "" ? [requiredValue(`${path}.name`)] : []),
    ...(name === "" ? [] : labelKeyProblems(name)).map((problem) => invalidValue(`${path}.name`, name, problem)),
  ];
}

/** Observes an evaluation of conditions that did not all hold: how long it took, and how many could not be evaluated. */
export type ObserveConditions = (seconds: number, errors: number) => void;

/** Whether all conditions hold; an error when one cannot be evaluated and no other one is false. */
export function conditionsHold(
  conditions: readonly MatchCondition[],
  values: ExpressionValues,
  observe: ObserveConditions,
): boolean | { readonly error: string } {
  if (conditions.length === 0) return true;
  const start = performance.now();
  const errors: string[] = [];
  const holds = evaluateConditions(conditions, values, errors);
  if (!holds || errors.length > 0) observe((performance.now() - start) / 1000, errors.length);
  if (!holds || errors.length === 0) return holds;
  return { error: errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]` };
}

/** Whether none of the conditions is false. Collects the errors of those before a false one. */
function evaluateConditions(
  conditions: readonly MatchCondition[],
  values: ExpressionValues,
  errors: string[],
): boolean {
  const budget = new ExpressionBudget(budgetOfConditions);
  for (const condition of conditions) {
    if ("problem" in condition) {
      errors.push(condition.problem);
      continue;
    }
    const outcome = evaluateAdmission(condition, values, budget);
    if (!("error" in outcome)) {
      if (outcome.value !== true) return false;
      continue;
    }
    errors.push(outcome.error);
    if (outcome.isFinal) break;
  }
  return true;
}
