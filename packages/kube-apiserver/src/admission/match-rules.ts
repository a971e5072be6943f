// SPDX-License-Identifier: Apache-2.0
// What is wrong with the rules and selectors by which webhooks and policies select writes.
import {
  duplicateValue,
  type FieldError,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { pathSegmentName } from "@purlin/kube-objects/metadata";
import { memberAt, textsAt } from "@purlin/kube-objects/object";
import { all, type Check, eachItem, selectorProblems, within } from "../objects/checks.ts";

const knownOperations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];

function emptyTexts(values: readonly string[], path: string): FieldError[] {
  return values.flatMap((one, index) => (one === "" ? [requiredValue(`${path}[${index}]`)] : []));
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
  ...textsAt(rule, ["operations"]).flatMap((one, index) =>
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
  return values.flatMap((one, index) => {
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
  return names.flatMap((name, index) => {
    const at = `${path}.resourceNames[${index}]`;
    return [
      ...pathSegmentName(name, false).map((problem) => invalidValue(at, name, problem)),
      ...(names.indexOf(name) < index ? [duplicateValue(at, name)] : []),
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
    textsAt(rule, ["operations"]).flatMap((operation) =>
      mutatingOperations.includes(operation)
        ? []
        : [unsupportedValue(`${path}.resourceRules.operations`, operation, mutatingOperations)],
    ),
  );
}
