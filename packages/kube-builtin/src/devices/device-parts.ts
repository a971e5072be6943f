// SPDX-License-Identifier: Apache-2.0
// Selectors, parameters, tolerations and conditions of devices, which claims, classes and slices have in common.
import { deviceSelectorProblem } from "@purlin/cel";
import { type Check, eachItem, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  requiredValue,
  tooLong,
  tooMany,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, type JsonObject, type JsonValue, utf8Length } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { driverName, hasObject } from "../checks/rule-checks.ts";

// Names of devices, pools, attributes and requests, and lists of them.

/** How many selectors, requests, constraints and configurations there can be. */
export const maxItems = 32;

const maxIdentifier = 32;
const maxDomain = 63;
const identifierText =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function identifierErrors(text: string, path: string): FieldError[] {
  return [
    ...(utf8Length(text) > maxIdentifier ? [tooLong(path, maxIdentifier)] : []),
    ...(/^[A-Za-z_][A-Za-z0-9_]*$/.test(text) ? [] : [invalidValue(path, text, identifierText)]),
  ];
}

function domainErrors(text: string, path: string): FieldError[] {
  return [
    ...(utf8Length(text) > maxDomain ? [tooLong(path, maxDomain)] : []),
    ...dns1123SubdomainProblems(text.toLowerCase()).map((problem) => invalidValue(path, text, problem)),
  ];
}

/** The errors of the name of an attribute or a capacity, with or without a domain. */
export function qualifiedNameErrors(name: string, path: string): FieldError[] {
  const [domain = "", id = "", ...more] = name.split("/");
  if (!name.includes("/")) return identifierErrors(name, path);
  if (more.length > 0) return [];
  return [
    ...(domain === "" ? [invalidValue(path, "", "the domain must not be empty")] : domainErrors(domain, path)),
    ...(id === "" ? [invalidValue(path, "", "the name must not be empty")] : identifierErrors(id, path)),
  ];
}

/** The same for a name that needs a domain. */
export function fullNameErrors(name: string, path: string): FieldError[] {
  const why = "a fully qualified name must be a domain and a name separated by a slash";
  return [...qualifiedNameErrors(name, path), ...(name.includes("/") ? [] : [invalidValue(path, name, why)])];
}

/** A member that is a DNS label. */
export function labelAt(name: string): Check {
  return (object, path) => {
    const text = stringAt(object, [name]);
    return dns1123LabelProblems(text).map((problem) => invalidValue(`${path}.${name}`, text, problem));
  };
}

const maxPool = 253;

/** The name of a pool: one or more DNS names. */
export function poolName(name: string): Check {
  return (object, path) => {
    const [text, at] = [stringAt(object, [name]), `${path}.${name}`];
    if (text === "") return [requiredValue(at)];
    return [
      ...(utf8Length(text) > maxPool ? [tooLong(at, maxPool)] : []),
      ...text
        .split("/")
        .flatMap((part) => dns1123SubdomainProblems(part).map((problem) => invalidValue(at, part, problem))),
    ];
  };
}

/** A list with a limited number of items. */
export function limited(name: string, most: number, check: Check): Check {
  return (object, path) => {
    const count = listAt(object, name).length;
    return count > most ? [tooMany(`${path}.${name}`, count, most)] : check(object, path);
  };
}

/** Items that differ in one member. The error is about the item. */
export function unique(name: string, member: string): Check {
  return (object, path) =>
    repeated(
      listAt(object, name).map((item) => stringAt(item, [member])),
      `${path}.${name}`,
    );
}

/** The errors of texts that are repeated in a list. */
export function repeated(texts: readonly string[], path: string): FieldError[] {
  const seen = new Set<string>();
  return firstErrors(texts, (text, index) => {
    const isTaken = seen.has(text);
    seen.add(text);
    return isTaken ? [duplicateValue(`${path}[${index}]`, text)] : [];
  });
}

const unknownRequest =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

function isRequest(claim: JsonObject, name: string): boolean {
  const [first, second] = name.split("/");
  const found = listAt(claim, "requests").findLast((one) => stringAt(one, ["name"]) === first);
  if (found === undefined || second === undefined) return found !== undefined;
  return listAt(found, "firstAvailable").some((sub) => stringAt(sub, ["name"]) === second);
}

/** The errors of the name of a request, or of one of its alternatives. `claim` has the requests. */
export function requestErrors(claim: JsonObject, name: string, path: string): FieldError[] {
  const parts = name.split("/");
  if (parts.length > 2) return [invalidValue(path, name, unknownRequest)];
  return [
    ...parts.flatMap((part) => dns1123LabelProblems(part).map((problem) => invalidValue(path, part, problem))),
    ...(isRequest(claim, name) ? [] : [invalidValue(path, name, unknownRequest)]),
  ];
}

/** Names of requests of the claim. */
export function requestNames(claim: JsonObject): Check {
  return (object, path) => {
    const [given, at] = [textsAt(object, ["requests"]), `${path}.requests`];
    if (given.length > maxItems) return [tooMany(at, given.length, maxItems)];
    return [
      ...firstErrors(given, (name, index) => requestErrors(claim, name, `${at}[${index}]`)),
      ...repeated(given, at),
    ];
  };
}

/** The errors of a value that has to be a JSON object. */
export function rawObjectErrors(value: JsonValue | undefined, path: string): FieldError[] {
  const most = 10 * 1024;
  if (value === undefined || value === null) return [requiredValue(path)];
  if (utf8Length(goJson(value)) > most) return [tooLong(path, most)];
  return isJsonObject(value) ? [] : [invalidValue(path, "<value omitted>", "must be a valid JSON object")];
}

const opaque: Check = (config, path) => [
  ...driverName("driver")(config, path),
  ...rawObjectErrors(memberAt(config, ["parameters"]), `${path}.parameters`),
];

/** Parameters for a driver. */
export const configuration: Check = (config, path) =>
  hasObject(config, "opaque")
    ? opaque(objectAt(config, ["opaque"]), `${path}.opaque`)
    : [requiredValue(`${path}.opaque`)];

const maxExpression = 10 * 1024;

function expressionErrors(text: string, path: string): FieldError[] {
  if (utf8Length(text) > maxExpression) return [tooLong(path, maxExpression)];
  const problem = deviceSelectorProblem(text);
  if (problem === undefined) return [];
  if (problem.kind === "forbidden") return [forbiddenValue(path, problem.detail)];
  return [
    problem.kind === "internal" ? internalFieldError(path, problem.detail) : invalidValue(path, text, problem.detail),
  ];
}

const selector: Check = (one, path) =>
  hasObject(one, "cel")
    ? expressionErrors(stringAt(one, ["cel", "expression"]), `${path}.cel.expression`)
    : [requiredValue(`${path}.cel`)];

/** Expressions that select devices. */
export const selectors: Check = limited("selectors", maxItems, eachItem("selectors", selector));

const tolerationOperators = ["Equal", "Exists"];
/** What happens to Pods that do not tolerate a taint of a device. */
export const taintEffects: readonly string[] = ["NoExecute", "NoSchedule", "None"];

/** A taint of a device that a request tolerates. */
export const toleration: Check = (one, path) => {
  const [key, operator, value, effect] = ["key", "operator", "value", "effect"].map((name) =>
    stringAt(one, [name]),
  ) as [string, string, string, string];
  return [
    ...(key === "" ? [] : labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem))),
    ...operatorErrors(operator, value, path),
    ...(effect === "" || taintEffects.includes(effect)
      ? []
      : [unsupportedValue(`${path}.effect`, effect, taintEffects)]),
  ];
};

function operatorErrors(operator: string, value: string, path: string): FieldError[] {
  switch (operator) {
    case "Exists":
      return value === "" ? [] : [invalidValue(`${path}.value`, value, "must be empty for operator `Exists`")];
    case "Equal":
      return labelValueProblems(value).map((problem) => invalidValue(`${path}.value`, value, problem));
    case "":
      return [requiredValue(`${path}.operator`)];
    default:
      return [unsupportedValue(`${path}.operator`, operator, tolerationOperators)];
  }
}

const maxConditions = 4;

function conditionTypes(object: JsonObject, name: string, path: string): FieldError[] {
  const [types, at] = [textsAt(object, [name]), `${path}.${name}`];
  if (types.length > maxConditions) return [tooMany(at, types.length, maxConditions)];
  return firstErrors(types, (type, index) =>
    labelKeyProblems(type).map((problem) => invalidValue(`${at}[${index}]`, type, problem)),
  );
}

/** The conditions that a device waits for, and those that end the waiting. Both are needed, and they differ. */
export const bindingConditions: Check = (object, path) => {
  const [awaited, failed] = [textsAt(object, ["bindingConditions"]), textsAt(object, ["bindingFailureConditions"])];
  const at = `${path}.bindingFailureConditions`;
  const overlap = "bindingFailureConditions must not overlap with bindingConditions";
  return [
    ...conditionTypes(object, "bindingConditions", path),
    ...conditionTypes(object, "bindingFailureConditions", path),
    ...repeated(awaited, `${path}.bindingConditions`),
    ...repeated(failed, at),
    ...firstErrors(failed, (type, index) =>
      awaited.includes(type) ? [invalidValue(`${at}[${index}]`, type, overlap)] : [],
    ),
    ...(awaited.length === 0 && failed.length > 0
      ? [
          invalidValue(
            `${path}.bindingConditions`,
            null,
            "bindingConditions are required to use bindingFailureConditions",
          ),
        ]
      : []),
    ...(failed.length === 0 && awaited.length > 0
      ? [invalidValue(at, null, "bindingFailureConditions are required to use bindingConditions")]
      : []),
  ];
};
