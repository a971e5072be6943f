// SPDX-License-Identifier: Apache-2.0
// The rules of ResourceQuotas.
import { type Check, type Endpoint, type KindRules, listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, invalidPrinted, invalidValue, keyPath, requiredValue } from "@purlin/kube-objects/errors";
import { type JsonObject, sortedKeys } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { goStruct, hasObject } from "../checks/rule-checks.ts";
import { amountErrors, isQuotaName, resourceNameErrors } from "./resource-names.ts";

/** Limits by the name of their resource. */
function limits(member: string): Check {
  return (object, path) => {
    const amounts = objectAt(object, [member]);
    return sortedKeys(amounts).flatMap((name) => {
      const at = keyPath(`${path}.${member}`, name);
      const isKnown = name.includes("/") || isQuotaName(name);
      return [
        ...resourceNameErrors(name, at),
        ...(isKnown ? [] : [invalidValue(at, name, "must be a standard resource for quota")]),
        ...amountErrors(name, String(amounts[name]), at),
      ];
    });
  };
}

const compute = new Set(["cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory", "pods"]);
const claims = new Set(["persistentvolumeclaims", "requests.storage"]);
const scopeResources: Readonly<Record<string, ReadonlySet<string>>> = {
  Terminating: compute,
  NotTerminating: compute,
  NotBestEffort: compute,
  PriorityClass: compute,
  CrossNamespacePodAffinity: compute,
  BestEffort: new Set(["pods"]),
  VolumeAttributesClass: claims,
};
const onlyExists = ["BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity"];
const existsText =
  "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity";
const conflicts = [
  ["BestEffort", "NotBestEffort"],
  ["Terminating", "NotTerminating"],
];

/** How often a scope does not fit a limited resource. */
function misfits(spec: JsonObject, scope: string): string[] {
  const fitting = scopeResources[scope];
  return sortedKeys(objectAt(spec, ["hard"])).filter((name) => isQuotaName(name) && fitting && !fitting.has(name));
}

const unfitText = "unsupported scope applied to resource";
const hasConflict = (scopes: readonly string[]): string[][] =>
  conflicts.filter((pair) => pair.every((scope) => scopes.includes(scope)));

const scopes: Check = (spec, path) => {
  const [given, at] = [textsAt(spec, ["scopes"]), `${path}.scopes`];
  return [
    ...given.flatMap((scope) => [
      ...(Object.hasOwn(scopeResources, scope) ? [] : [invalidValue(at, given, "unsupported scope")]),
      ...misfits(spec, scope).map(() => invalidValue(at, given, unfitText)),
    ]),
    ...hasConflict(given).map(() => invalidValue(at, given, "conflicting scopes")),
  ];
};

/** A selector as the reference prints it. */
function inGo(selector: JsonObject): string {
  const expressions = listAt(selector, "matchExpressions").map((one) =>
    goStruct({
      ScopeName: stringAt(one, ["scopeName"]),
      Operator: stringAt(one, ["operator"]),
      Values: textsAt(one, ["values"]).length > 0 ? textsAt(one, ["values"]) : null,
    }),
  );
  return `{"MatchExpressions":[${expressions.join(",")}]}`;
}

function operatorErrors(one: JsonObject, path: string): FieldError[] {
  const [operator, values] = [stringAt(one, ["operator"]), textsAt(one, ["values"])];
  const none = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
  const some = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
  switch (operator) {
    case "In":
    case "NotIn":
      return values.length === 0 ? [requiredValue(`${path}.values`, some)] : [];
    case "Exists":
    case "DoesNotExist":
      return values.length === 0 ? [] : [invalidValue(`${path}.values`, values, none)];
    default:
      return [invalidValue(`${path}.operator`, operator, "not a valid selector operator")];
  }
}

const selector: Check = (spec, path) => {
  if (!hasObject(spec, "scopeSelector")) return [];
  const [own, at] = [objectAt(spec, ["scopeSelector"]), `${path}.scopeSelector.matchExpressions`];
  const expressions = listAt(own, "matchExpressions");
  const names = expressions.map((one) => stringAt(one, ["scopeName"]));
  return [
    ...expressions.flatMap((one, index) => {
      const [scope, operator] = [names[index] ?? "", stringAt(one, ["operator"])];
      return [
        ...(Object.hasOwn(scopeResources, scope) ? [] : [invalidValue(`${at}.scopeName`, scope, "unsupported scope")]),
        ...misfits(spec, scope).map(() => invalidPrinted(at, inGo(own), unfitText)),
        ...(onlyExists.includes(scope) && operator !== "Exists"
          ? [invalidValue(`${at}.operator`, operator, existsText)]
          : []),
        ...operatorErrors(one, at),
      ];
    }),
    ...hasConflict(names).map(() => invalidValue(at, memberAt(spec, ["scopes"]) ?? null, "conflicting scopes")),
  ];
};

function quotaErrors(object: JsonObject): FieldError[] {
  const spec = objectAt(object, ["spec"]);
  return [limits("hard"), scopes, selector].flatMap((check) => check(spec, "spec"));
}

/** The scopes of a quota stay. */
function quotaChange(object: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  if (endpoint === "status") {
    const status = objectAt(object, ["status"]);
    return [limits("hard"), limits("used")].flatMap((check) => check(status, "status"));
  }
  const [now, before] = [object, old].map((one) => [...new Set(textsAt(one, ["spec", "scopes"]))].sort().join());
  const sent = memberAt(object, ["spec", "scopes"]) ?? null;
  return now === before ? [] : [invalidValue("spec.scopes", sent, "field is immutable")];
}

/** The rules of ResourceQuotas. */
export const quotaChecks: KindRules = { validate: quotaErrors, validateChange: quotaChange };
