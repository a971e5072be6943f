// SPDX-License-Identifier: Apache-2.0
import {
  type FieldError,
  firstErrors,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, pathSegmentName } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { type Check, eachItem, listAt, selectorProblems } from "../objects/checks.ts";
import type { KindRules } from "../strategy/kind-rules.ts";

const rbacGroup = "rbac.authorization.k8s.io";

function hasSome(rule: JsonObject, name: string): boolean {
  const value = memberAt(rule, [name]);
  return Array.isArray(value) && value.length > 0;
}

/** What is wrong with a rule: it is about resources, or about paths, and only clusters have paths. */
function ruleErrors(isNamespaced: boolean): Check {
  return (rule, path) => {
    const verbs = hasSome(rule, "verbs")
      ? []
      : [requiredValue(`${path}.verbs`, "verbs must contain at least one value")];
    const urls = memberAt(rule, ["nonResourceURLs"]);
    if (hasSome(rule, "nonResourceURLs")) {
      const wrong = (why: string): FieldError => invalidValue(`${path}.nonResourceURLs`, urls ?? null, why);
      const isMixed = ["apiGroups", "resources", "resourceNames"].some((name) => hasSome(rule, name));
      return [
        ...verbs,
        ...(isNamespaced ? [wrong("namespaced rules cannot apply to non-resource URLs")] : []),
        ...(isMixed ? [wrong("rules cannot apply to both regular resources and non-resource URLs")] : []),
      ];
    }
    const needed = (name: string, what: string): FieldError[] =>
      hasSome(rule, name) ? [] : [requiredValue(`${path}.${name}`, `resource rules must supply at least one ${what}`)];
    return [...verbs, ...needed("apiGroups", "api group"), ...needed("resources", "resource")];
  };
}

/** The checks of a member of the object itself have no path before it. */
function ofItems(object: JsonObject, name: string, check: Check): FieldError[] {
  return firstErrors(listAt(object, name), (item, index) => check(item, `${name}[${index}]`));
}

function aggregationErrors(role: JsonObject): readonly FieldError[] {
  if (!isJsonObject(memberAt(role, ["aggregationRule"]))) return [];
  const path = "aggregationRule.clusterRoleSelectors";
  const selectors = listAt(role, "aggregationRule", "clusterRoleSelectors");
  if (selectors.length === 0) {
    return [requiredValue(path, "at least one clusterRoleSelector required if aggregationRule is non-nil")];
  }
  return eachItem("clusterRoleSelectors", (selector, at) => {
    const own = selectorProblems(selector, at);
    return own.length === 0 ? [] : [...own, invalidValue(at, null, "invalid label selector.")];
  })(objectAt(role, ["aggregationRule"]), "aggregationRule");
}

export const roleRules: KindRules = { validate: (role) => ofItems(role, "rules", ruleErrors(true)) };

export const clusterRoleRules: KindRules = {
  validate: (role) => [...ofItems(role, "rules", ruleErrors(false)), ...aggregationErrors(role)],
};

function subjectErrors(isNamespaced: boolean): Check {
  return (subject, path) => {
    const [kind, name, group] = [
      stringAt(subject, ["kind"]),
      stringAt(subject, ["name"]),
      stringAt(subject, ["apiGroup"]),
    ];
    const unnamed = name === "" ? [requiredValue(`${path}.name`)] : [];
    switch (kind) {
      case "ServiceAccount":
        return [
          ...unnamed,
          ...(name === ""
            ? []
            : dns1123SubdomainProblems(name).map((text) => invalidValue(`${path}.name`, name, text))),
          ...(group === "" ? [] : [unsupportedValue(`${path}.apiGroup`, group, [""])]),
          ...(isNamespaced || stringAt(subject, ["namespace"]) !== "" ? [] : [requiredValue(`${path}.namespace`)]),
        ];
      case "User":
      case "Group":
        return [...unnamed, ...(group === rbacGroup ? [] : [unsupportedValue(`${path}.apiGroup`, group, [rbacGroup])])];
      default:
        return [...unnamed, unsupportedValue(`${path}.kind`, kind, ["ServiceAccount", "User", "Group"])];
    }
  };
}

function roleRefErrors(object: JsonObject, kinds: readonly string[]): FieldError[] {
  const [kind, name, group] = ["kind", "name", "apiGroup"].map((member) => stringAt(object, ["roleRef", member])) as [
    string,
    string,
    string,
  ];
  return [
    ...(group === rbacGroup ? [] : [unsupportedValue("roleRef.apiGroup", group, [rbacGroup])]),
    ...(kinds.includes(kind) ? [] : [unsupportedValue("roleRef.kind", kind, kinds)]),
    ...(name === ""
      ? [requiredValue("roleRef.name")]
      : pathSegmentName(name, false).map((text) => invalidValue("roleRef.name", name, text))),
  ];
}

/** The reference shows the reference with the names of its fields in Go. */
function inGo({ apiGroup = "", kind = "", name = "" }: JsonObject): JsonObject {
  return { APIGroup: apiGroup, Kind: kind, Name: name };
}

function bindingRules(kinds: readonly string[]): KindRules {
  const isNamespaced = kinds.length > 1;
  return {
    validate: (object) => [
      ...roleRefErrors(object, kinds),
      ...ofItems(object, "subjects", subjectErrors(isNamespaced)),
    ],
    // A binding that could be changed to another role would grant its subjects permissions that were not granted.
    validateChange: (object, old) =>
      jsonEqual(objectAt(object, ["roleRef"]), objectAt(old, ["roleRef"]))
        ? []
        : [invalidValue("roleRef", inGo(objectAt(object, ["roleRef"])), "cannot change roleRef")],
  };
}

export const roleBindingRules: KindRules = bindingRules(["Role", "ClusterRole"]);
export const clusterRoleBindingRules: KindRules = bindingRules(["ClusterRole"]);
