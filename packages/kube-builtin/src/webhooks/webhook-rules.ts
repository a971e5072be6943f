// SPDX-License-Identifier: Apache-2.0

import {
  all,
  type Check,
  conditionErrors,
  eachItem,
  type KindRules,
  listAt,
  selectorProblems,
  webhookTargetErrors,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { dns1035LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { exactlyOneOf, optionallyOneOf } from "../checks/rule-checks.ts";

const sideEffectClasses = ["None", "NoneOnDryRun"];
const knownReviewVersions = ["v1", "v1beta1"];
const knownOperations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

const texts = (object: JsonObject, name: string): string[] => {
  const value = memberAt(object, [name]);
  return Array.isArray(value) ? value.map(String) : [];
};

const name: Check = (hook, path) => {
  const text = stringAt(hook, ["name"]);
  if (text === "") return [requiredValue(`${path}.name`)];
  const problems = dns1123SubdomainProblems(text);
  const found =
    problems.length === 0 && text.split(".").length < 3
      ? ["should be a domain with at least three segments separated by dots"]
      : problems;
  return found.map((problem) => invalidValue(`${path}.name`, text, problem));
};

const sideEffects: Check = (hook, path) =>
  typeof memberAt(hook, ["sideEffects"]) === "string"
    ? exactlyOneOf("sideEffects", sideEffectClasses)(hook, path)
    : [requiredValue(`${path}.sideEffects`, "must specify one of None, NoneOnDryRun")];

const timeout: Check = (hook, path) => {
  const seconds = memberAt(hook, ["timeoutSeconds"]);
  const why = "the timeout value must be between 1 and 30 seconds";
  return typeof seconds === "number" && (seconds < 1 || seconds > 30)
    ? [invalidValue(`${path}.timeoutSeconds`, seconds, why)]
    : [];
};

const clientConfig: Check = (hook, path) =>
  webhookTargetErrors(objectAt(hook, ["clientConfig"]), `${path}.clientConfig`);

function emptyTexts(values: readonly string[], path: string): FieldError[] {
  return values.flatMap((one, index) => (one === "" ? [requiredValue(`${path}[${index}]`)] : []));
}

function listed(member: string, what: string): Check {
  return (rule, path) => {
    const values = texts(rule, member);
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
  ...texts(rule, "operations").flatMap((one, index) =>
    knownOperations.includes(one) ? [] : [unsupportedValue(`${path}.operations[${index}]`, one, knownOperations)],
  ),
];

const resources: Check = (rule, path) => {
  const values = texts(rule, "resources");
  const at = `${path}.resources`;
  if (values.length === 0) return [requiredValue(at)];
  const isMixed = values.length > 1 && values.includes("*");
  const why = "if '*' is present, must not specify other resources without subresources";
  const others = values.filter((one) => one !== "*" && !one.includes("/"));
  return isMixed && others.length > 0 ? [invalidValue(at, values, why)] : [];
};

const rule: Check = all(
  operations,
  listed("apiGroups", "API groups"),
  listed("apiVersions", "API versions"),
  resources,
  optionallyOneOf("scope", ["*", "Cluster", "Namespaced"]),
);

const reviewVersions: Check = (hook, path) => {
  const versions = texts(hook, "admissionReviewVersions");
  const at = `${path}.admissionReviewVersions`;
  if (versions.length === 0) return [requiredValue(at, `must specify one of ${knownReviewVersions.join(", ")}`)];
  const isKnown = versions.some((one) => knownReviewVersions.includes(one));
  return [
    ...versions.flatMap((one, index) => [
      ...dns1035LabelProblems(one).map((problem) => invalidValue(`${at}[${index}]`, one, problem)),
      ...(versions.indexOf(one) < index ? [invalidValue(`${at}[${index}]`, one, "duplicate version")] : []),
    ]),
    ...(isKnown ? [] : [invalidValue(at, versions, `must include at least one of ${knownReviewVersions.join(", ")}`)]),
  ];
};

const hook: Check = all(
  name,
  eachItem("rules", rule),
  optionallyOneOf("failurePolicy", ["Fail", "Ignore"]),
  optionallyOneOf("matchPolicy", ["Equivalent", "Exact"]),
  sideEffects,
  timeout,
  within("namespaceSelector", selectorProblems),
  within("objectSelector", selectorProblems),
  clientConfig,
  optionallyOneOf("reinvocationPolicy", ["IfNeeded", "Never"]),
  eachItem("matchConditions", conditionErrors),
  reviewVersions,
);

function webhookErrors(configuration: JsonObject): FieldError[] {
  const names = new Set<string>();
  return listAt(configuration, "webhooks").flatMap((one, index) => {
    const [path, own] = [`webhooks[${index}]`, stringAt(one, ["name"])];
    const isTaken = names.has(own);
    if (own !== "") names.add(own);
    return [...hook(one, path), ...(isTaken ? [duplicateValue(`${path}.name`, own)] : [])];
  });
}

/** The rules of both kinds of webhook configurations. */
export const webhookRules: KindRules = { validate: webhookErrors };
