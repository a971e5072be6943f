// SPDX-License-Identifier: Apache-2.0
// Parts of rules that several kinds share. Each returns field errors with the texts of the reference.
import { type Check, type KindRules, listAt, selectorProblems, within } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  invalidValue,
  requiredValue,
  tooLong,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import {
  goJson,
  isJsonObject,
  isNumber,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  utf8Length,
} from "@purlin/kube-objects/json";
import {
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
  pathSegmentName,
} from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";

type Validate = NonNullable<KindRules["validate"]>;
type ValidateChange = NonNullable<KindRules["validateChange"]>;

/** Applies a check to the whole object. */
export function atRoot(check: Check): Validate {
  return (object) => check(object, "").map((error) => ({ ...error, field: error.field.replace(/^\./, "") }));
}

/** Applies a check to one member of the object, also when the member is missing. */
export function inMember(name: string, check: Check): Validate {
  return (object) => check(objectAt(object, [name]), name);
}

/** Applies a check to the status, on writes to it. */
export function onStatus(check: Check): ValidateChange {
  return (object, _old, endpoint) => (endpoint === "status" ? check(objectAt(object, ["status"]), "status") : []);
}

/** All checks of a change, one after the other. */
export function changes(...checks: readonly ValidateChange[]): ValidateChange {
  return (object, old, endpoint) => checks.flatMap((check) => check(object, old, endpoint));
}

/** A member that keeps the value that it has. `shown` is the path in errors, where it is not that of the member. */
export function immutable(path: readonly string[], shown: string = path.join(".")): ValidateChange {
  return keptAs(path, { shown, missing: null });
}

/** The same for a text; a missing text is printed as an empty one. */
export function immutableText(path: readonly string[]): ValidateChange {
  return keptAs(path, { shown: path.join("."), missing: "" });
}

function keptAs(
  path: readonly string[],
  { shown, missing }: { readonly shown: string; readonly missing: JsonValue },
): ValidateChange {
  return (object, old) => {
    const [now, before] = [memberAt(object, path) ?? missing, memberAt(old, path) ?? missing] as [JsonValue, JsonValue];
    return jsonEqual(now, before) ? [] : [invalidValue(shown, now, "field is immutable")];
  };
}

/** A text that must be a segment of a path. */
export const pathSegmentProblems = (text: string): string[] => pathSegmentName(text, false);

/** A selector of labels that is there. */
export function selectorAt(name: string): Check {
  return within(name, selectorProblems);
}

/** A member that is one of a few texts. The empty text is not. */
export function exactlyOneOf(name: string, supported: readonly string[]): Check {
  return (object, path) => {
    const value = stringAt(object, [name]);
    return supported.includes(value) ? [] : [unsupportedValue(`${path}.${name}`, value, supported)];
  };
}

/** The same for a member that is optional: an empty text is still an error. */
export function optionallyOneOf(name: string, supported: readonly string[]): Check {
  return (object, path) =>
    typeof memberAt(object, [name]) === "string" ? exactlyOneOf(name, supported)(object, path) : [];
}

/** Every text of a list follows a rule. */
export function eachText(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) =>
    firstErrors(textsAt(object, [name]), (text, index) =>
      rule(text).map((problem) => invalidValue(`${path}.${name}[${index}]`, text, problem)),
    );
}

/** Numbers that are not below zero. A missing number counts as zero. */
export function notNegativeAt(...names: readonly string[]): Check {
  return (object, path) =>
    names.flatMap((name) => {
      const value = memberAt(object, [name]);
      return isNumber(value) && value < 0
        ? [invalidValue(`${path}.${name}`, value, "must be greater than or equal to 0")]
        : [];
    });
}

/** Counts of a status that are not above another count. */
export function notAbove(names: readonly string[], most: string, text: string): Check {
  return (object, path) =>
    names.flatMap((name) => {
      const value = numberAt(object, [name]);
      return value > numberAt(object, [most]) ? [invalidValue(`${path}.${name}`, value, text)] : [];
    });
}

/** The name of a CSI driver. */
export function driverName(name: string): Check {
  return (object, path) => {
    const [text, at] = [stringAt(object, [name]), `${path}.${name}`];
    if (text === "") return [requiredValue(at)];
    return [
      ...(utf8Length(text) > 63 ? [tooLong(at, 63)] : []),
      ...dns1123SubdomainProblems(text.toLowerCase()).map((problem) => invalidValue(at, text, problem)),
    ];
  };
}

const conditionStatuses = ["False", "True", "Unknown"];
const reasonPattern = /^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const reasonText =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

function conditionErrors(condition: JsonObject, path: string): FieldError[] {
  const [type, reason] = [stringAt(condition, ["type"]), stringAt(condition, ["reason"])];
  const generation = memberAt(condition, ["observedGeneration"]);
  return [
    ...labelKeyProblems(type).map((problem) => invalidValue(`${path}.type`, type, problem)),
    ...exactlyOneOf("status", conditionStatuses)(condition, path),
    ...(isNumber(generation) && generation < 0
      ? [invalidValue(`${path}.observedGeneration`, generation, "must be greater than or equal to zero")]
      : []),
    ...(stringAt(condition, ["lastTransitionTime"]) === "" ? [requiredValue(`${path}.lastTransitionTime`)] : []),
    ...(reason === "" ? [requiredValue(`${path}.reason`)] : []),
    ...(reason === "" || reasonPattern.test(reason) ? [] : [invalidValue(`${path}.reason`, reason, reasonText)]),
    ...(utf8Length(reason) > 1024 ? [tooLong(`${path}.reason`, 1024)] : []),
    ...(utf8Length(stringAt(condition, ["message"])) > 32_768 ? [tooLong(`${path}.message`, 32_768)] : []),
  ];
}

/** The conditions of a status that are of the shared type of conditions. */
export const sharedConditions: Check = (status, path) => {
  const types = new Set<string>();
  return firstErrors(listAt(status, "conditions"), (condition, index) => {
    const at = `${path}.conditions[${index}]`;
    const type = stringAt(condition, ["type"]);
    const isTaken = types.has(type);
    types.add(type);
    return [...(isTaken ? [duplicateValue(`${at}.type`, type)] : []), ...conditionErrors(condition, at)];
  });
};

/** An object as the reference prints its Go types: members in the order of the type. */
export function goStruct(members: JsonObject): string {
  const printed = Object.entries(members).map(([name, value]) => `${goJson(name)}:${goJson(value)}`);
  return `{${printed.join(",")}}`;
}

/** Kinds without namespaces that have selectable fields of their own do not select by namespace. */
export const noNamespaceField: NonNullable<KindRules["fieldProblem"]> = (field) =>
  field === "metadata.namespace" ? `field label not supported: ${field}` : undefined;

/** Whether a member is an object. */
export const hasObject = (object: JsonObject, name: string): boolean => isJsonObject(memberAt(object, [name]));

// Warnings about labels of nodes that have other names now.

const oldLabels: ReadonlyMap<string, string> = new Map([
  ["beta.kubernetes.io/arch", 'deprecated since v1.14; use "kubernetes.io/arch" instead'],
  ["beta.kubernetes.io/os", 'deprecated since v1.14; use "kubernetes.io/os" instead'],
  ["failure-domain.beta.kubernetes.io/region", 'deprecated since v1.17; use "topology.kubernetes.io/region" instead'],
  ["failure-domain.beta.kubernetes.io/zone", 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'],
  ["beta.kubernetes.io/instance-type", 'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'],
  ["app.kubernetes.io/created-by", "deprecated since v1.9"],
  ["scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"],
  ["node-role.kubernetes.io/master", 'use "node-role.kubernetes.io/control-plane" instead'],
]);

/** Why a label of nodes is deprecated; undefined when it is not. */
export function deprecatedNodeLabel(name: string): string | undefined {
  return oldLabels.get(name);
}

/**
 * Warnings about a term that selects nodes. Only required terms have their values validated, so those of preferred ones can be wrong.
 */
export function* termWarnings(
  term: JsonObject,
  path: string,
  { checksValues = false }: { readonly checksValues?: boolean } = {},
): Generator<string> {
  for (const [index, expression] of listAt(term, "matchExpressions").entries()) {
    const at = `${path}.matchExpressions[${index}]`;
    yield* oldLabel(stringAt(expression, ["key"]), `${at}.key`);
    for (const [place, value] of checksValues ? textsAt(expression, ["values"]).entries() : []) {
      for (const problem of labelValueProblems(value)) yield `${at}.values[${place}]: ${value} is invalid, ${problem}`;
    }
  }
}

/** A warning about a label of nodes that has another name now. */
export function* oldLabel(name: string, path: string): Generator<string> {
  const text = oldLabels.get(name);
  if (text !== undefined) yield `${path}: ${name} is ${text}`;
}
