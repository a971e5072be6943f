// SPDX-License-Identifier: Apache-2.0
// What is wrong with the rules and selectors by which webhooks and policies select writes.

import { inOnePart, type Work } from "@purlin/base";
import {
  type AdmissionExpression,
  type AdmissionScope,
  compileAdmissionExpression,
  ExpressionBudget,
  type ExpressionValues,
  evaluateAdmission,
} from "@purlin/cel";
import {
  duplicateValue,
  type FieldError,
  findingFirstErrors,
  firstErrors,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems, pathSegmentName } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { all, type Check, eachItem, listAt, selectorProblems, within } from "../objects/checks.ts";

const knownOperations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

function emptyTexts(values: readonly string[], path: string): FieldError[] {
  return firstErrors(values, (one, index) => (one === "" ? [requiredValue(`${path}[${index}]`)] : []));
}

function listed(member: string, what: string): Check {
  return (rule, path) => {
    const values = textsAt(rule, [member]);
    const at = `${path}.${member}`;
    if (values.length === 0) return [requiredValue(at)];
    const isMixed = values.length > 1 && values.includes("*");
    return [
      ...(isMixed ? [invalidValue(at, values, `if '*' is present, must not specify other ${what}`)] : []),
      ...(member === "apiVersions" ? emptyTexts(values, at) : []),
    ];
  };
}

const operations: Check = (rule, path) => [
  ...listed("operations", "operations")(rule, path),
  ...firstErrors(textsAt(rule, ["operations"]), (one, index) =>
    knownOperations.includes(one) ? [] : [unsupportedValue(`${path}.operations[${index}]`, one, knownOperations)],
  ),
];

const resources: Check = (rule, path) => {
  const values = textsAt(rule, ["resources"]);
  const at = `${path}.resources`;
  if (values.length === 0) return [requiredValue(at)];
  const last = values.findLast((one) => one !== "" && !one.includes("/"));
  const isMixed = values.includes("*") && last !== undefined && last !== "*";
  return [
    ...subresourceErrors(values, at),
    ...(values.length > 1 && values.includes("*/*")
      ? [invalidValue(at, values, "if '*/*' is present, must not specify other resources")]
      : []),
    ...(isMixed
      ? [invalidValue(at, values, "if '*' is present, must not specify other resources without subresources")]
      : []),
  ];
};

/** Subresources that an entry before them covers already. */
function subresourceErrors(values: readonly string[], path: string): FieldError[] {
  const [ofResource, ofAll] = [new Set<string>(), new Set<string>()];
  return firstErrors(values, (one, index) => {
    const at = `${path}[${index}]`;
    if (one === "") return [requiredValue(at)];
    const slash = one.indexOf("/");
    if (slash === -1) return [];
    const [resource, subresource] = [one.slice(0, slash), one.slice(slash + 1)];
    const covers = [
      ...(ofResource.has(resource) ? [`${resource}/*`] : []),
      ...(ofAll.has(subresource) ? [`*/${subresource}`] : []),
    ];
    if (subresource === "*") ofResource.add(resource);
    if (resource === "*") ofAll.add(subresource);
    return covers.map((cover) => invalidValue(at, one, `if '${cover}' is present, must not specify ${one}`));
  });
}

/** A text that must be one of some where it is there. */
function optionallyOneOf(member: string, values: readonly string[]): Check {
  return (object, path) => {
    const value = memberAt(object, [member]);
    const isKnown = value === undefined || (typeof value === "string" && values.includes(value));
    return isKnown ? [] : [unsupportedValue(`${path}.${member}`, String(value), values)];
  };
}

/** The errors of a rule of a webhook. */
export const operationRuleErrors: Check = all(
  operations,
  listed("apiGroups", "API groups"),
  listed("apiVersions", "API versions"),
  resources,
  optionallyOneOf("scope", ["*", "Cluster", "Namespaced"]),
);

const resourceNames: Check = (rule, path) => {
  const names = textsAt(rule, ["resourceNames"]);
  const isRepeated = repeatsIn(names);
  return firstErrors(names, (name, index) => {
    const at = `${path}.resourceNames[${index}]`;
    return [
      ...pathSegmentName(name, false).map((problem) => invalidValue(at, name, problem)),
      ...(isRepeated(index) ? [duplicateValue(at, name)] : []),
    ];
  });
};

const namedRule = all(resourceNames, operationRuleErrors);

/** The errors of `matchConstraints` and `matchResources` of policies and bindings. */
export const matchResourcesErrors: Check = all(
  optionallyOneOf("matchPolicy", ["Equivalent", "Exact"]),
  within("namespaceSelector", selectorProblems),
  within("objectSelector", selectorProblems),
  eachItem("resourceRules", namedRule),
  eachItem("excludeResourceRules", namedRule),
);

const mutatingOperations = ["*", "CONNECT", "CREATE", "UPDATE"];

/** The errors of the rules of mutating policies and their bindings, beside those of all. */
export function mutatingRuleErrors(match: JsonObject, path: string): FieldError[] {
  const rules = memberAt(match, ["resourceRules"]);
  return (Array.isArray(rules) ? (rules as readonly JsonObject[]) : []).flatMap((rule) =>
    firstErrors(textsAt(rule, ["operations"]), (operation) =>
      mutatingOperations.includes(operation)
        ? []
        : [unsupportedValue(`${path}.resourceRules.operations`, operation, mutatingOperations)],
    ),
  );
}

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
export function webhookConditionErrors(hook: JsonObject, path: string): Work<FieldError[]> {
  return conditionErrors(hook, path, webhookScope);
}

/** What is wrong with the member `matchConditions` of an object at a path. To compile each condition is a part. */
export function* conditionErrors(object: JsonObject, path: string, scope: AdmissionScope): Work<FieldError[]> {
  const conditions = listAt(object, "matchConditions");
  const names = conditions.map((one) => stringAt(one, ["name"]));
  const isRepeated = repeatsIn(names);
  const at = `${path}.matchConditions`;
  return [
    ...(conditions.length > maxConditions ? [tooMany(at, conditions.length, maxConditions)] : []),
    ...(yield* findingFirstErrors(
      conditions,
      inOnePart((one, index) => {
        const name = names[index] ?? "";
        const isTaken = name !== "" && isRepeated(index);
        return [
          ...oneConditionErrors(one, `${at}[${index}]`, scope),
          ...(isTaken ? [duplicateValue(`${at}[${index}].name`, name)] : []),
        ];
      }),
    )),
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
export function* conditionsHold(
  conditions: readonly MatchCondition[],
  values: ExpressionValues,
  observe: ObserveConditions,
): Work<boolean | { readonly error: string }> {
  if (conditions.length === 0) return true;
  const start = performance.now();
  const errors: string[] = [];
  const holds = yield* evaluateConditions(conditions, values, errors);
  if (!holds || errors.length > 0) observe((performance.now() - start) / 1000, errors.length);
  if (!holds || errors.length === 0) return holds;
  return { error: errors.length === 1 ? (errors[0] ?? "") : `[${errors.join(", ")}]` };
}

/** Whether none of the conditions is false. Collects the errors of those before a false one. */
function* evaluateConditions(
  conditions: readonly MatchCondition[],
  values: ExpressionValues,
  errors: string[],
): Work<boolean> {
  const budget = new ExpressionBudget(budgetOfConditions);
  for (const condition of conditions) {
    if ("problem" in condition) {
      errors.push(condition.problem);
      continue;
    }
    yield;
    const outcome = yield* evaluateAdmission(condition, values, budget);
    if (!("error" in outcome)) {
      if (outcome.value !== true) return false;
      continue;
    }
    errors.push(outcome.error);
    if (outcome.isFinal) break;
  }
  return true;
}
