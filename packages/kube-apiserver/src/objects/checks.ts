// SPDX-License-Identifier: Apache-2.0
// Small questions that the rules of Pods and Services are put together from. Each gives what is wrong, in the reference's words.
import { memoize, type Work } from "@purlin/base";
import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  indexPath,
  invalidPrinted,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, isJsonObject, isNumber, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { labelKeyProblems, labelValueProblems, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, meetsLabelSelector } from "@purlin/kube-objects/selector";

/** What is wrong with an object that stands at a path. */
export type Check = (object: JsonObject, path: string) => readonly FieldError[];

/** The objects in a list member; nothing where there is none. */
export function listAt(object: JsonObject, ...names: readonly string[]): JsonObject[] {
  const value = memberAt(object, names);
  return Array.isArray(value) ? value.map((item) => (isJsonObject(item) ? item : {})) : [];
}

/** Checks the items of a list member, up to as many errors as are reported. */
export function eachItem(name: string, check: Check): Check {
  return (object, path) =>
    firstErrors(listAt(object, name), (item, index) => check(item, indexPath(`${path}.${name}`, index)));
}

/** Checks a member that is there. */
export function within(name: string, check: Check): Check {
  return (object, path) => {
    const member = memberAt(object, [name]);
    return isJsonObject(member) ? check(member, `${path}.${name}`) : [];
  };
}

/** One check after the other. */
export function all(...checks: readonly Check[]): Check {
  return (object, path) => checks.flatMap((check) => check(object, path));
}

/** A text that must be there. */
export function needed(name: string): Check {
  return (object, path) => (stringAt(object, [name]) === "" ? [requiredValue(`${path}.${name}`)] : []);
}

/** A text that must be there and follow a rule. */
export function named(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) =>
    stringAt(object, [name]) === "" ? [requiredValue(`${path}.${name}`)] : problems(object, name, { path, rule });
}

/** A text that follows a rule where it is there. */
export function maybeNamed(name: string, rule: (text: string) => readonly string[]): Check {
  return (object, path) => (stringAt(object, [name]) === "" ? [] : problems(object, name, { path, rule }));
}

function problems(
  object: JsonObject,
  name: string,
  { path, rule }: { readonly path: string; readonly rule: (text: string) => readonly string[] },
): FieldError[] {
  const text = stringAt(object, [name]);
  return rule(text).map((problem) => invalidValue(`${path}.${name}`, text, problem));
}

/** A text that is one of a few where it is there. */
export function oneOf(name: string, supported: readonly string[]): Check {
  return (object, path) => {
    const text = stringAt(object, [name]);
    return text === "" || supported.includes(text) ? [] : [unsupportedValue(`${path}.${name}`, text, supported)];
  };
}

/** A number in a range where it is there. */
export function inRange(name: string, min: number, max: number): Check {
  return (object, path) => {
    const value = memberAt(object, [name]);
    const isFine = value === undefined || value === null || (Number(value) >= min && Number(value) <= max);
    return isFine ? [] : [invalidValue(`${path}.${name}`, value, `must be between ${min} and ${max}, inclusive`)];
  };
}

/** A number that is not below zero where it is there. */
export function notNegative(name: string): Check {
  return (object, path) => {
    const value = memberAt(object, [name]);
    return isNumber(value) && value < 0
      ? [invalidValue(`${path}.${name}`, value, "must be greater than or equal to 0")]
      : [];
  };
}

const maxPort = 65_535;
/** The error of Kubernetes for a port that is out of range. */
export const portRange: string = `must be between 1 and ${maxPort}, inclusive`;

/** Whether a value is the number of a port. */
export function isPort(value: JsonValue | undefined): boolean {
  return typeof value === "number" && value >= 1 && value <= maxPort;
}

/** What keeps a text from being the name of a port. */
export function portNameProblems(name: string): string[] {
  const found: string[] = [];
  if (name.length > 15) found.push("must be no more than 15 characters");
  if (!/^[-a-z0-9]+$/.test(name)) found.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
  if (!/[a-z]/.test(name)) found.push("must contain at least one letter (a-z)");
  if (name.includes("--")) found.push("must not contain consecutive hyphens");
  if (/^-|-$/.test(name)) found.push("must not begin or end with a hyphen");
  return found;
}

/** A port by number or by name. */
export function portProblems(value: JsonValue | undefined, path: string): FieldError[] {
  if (typeof value === "string") return portNameProblems(value).map((problem) => invalidValue(path, value, problem));
  return isPort(value) ? [] : [invalidValue(path, value ?? 0, portRange)];
}

const expression: Check = (one, path) => {
  const [operator, key] = [stringAt(one, ["operator"]), stringAt(one, ["key"])];
  const values = memberAt(one, ["values"]);
  const texts = Array.isArray(values) ? values.map(String) : [];
  return [
    ...operatorErrors(operator, texts.length > 0, path),
    ...labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
    ...firstErrors(texts, (text, index) =>
      labelValueProblems(text).map((problem) => invalidValue(`${path}.values[${index}]`, text, problem)),
    ),
  ];
};

function operatorErrors(operator: string, hasValues: boolean, path: string): FieldError[] {
  switch (operator) {
    case "In":
    case "NotIn":
      return hasValues ? [] : [requiredValue(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      return hasValues
        ? [forbiddenValue(`${path}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
        : [];
    default:
      return [invalidValue(`${path}.operator`, operator, "not a valid selector operator")];
  }
}

/** What is wrong with a selector of labels itself. */
export const selectorProblems: Check = all(
  (selector, path) =>
    validateLabels(objectAt(selector, ["matchLabels"]) as Record<string, string>, `${path}.matchLabels`),
  eachItem("matchExpressions", expression),
);

/** How the errors of the kinds differ for a missing or empty selector. */
interface SelectorRules {
  /** What the kind calls itself there. */
  readonly noun: string;
  readonly isRequired: boolean;
  /** The error for a selector that cannot be parsed. */
  readonly unreadable: string;
}

/** A selector as the reference prints it: labels first. */
export function selectorInGo(selector: JsonObject): string {
  const members = ["matchLabels", "matchExpressions"].filter((name) => selector[name] !== undefined);
  return `{${members.map((name) => `"${name}":${goJson(selector[name] ?? null)}`).join(",")}}`;
}

/** What is wrong with the selector of a workload itself: several rules ask, and it may be as long as a request. */
const ownProblems = memoize((selector: JsonObject) => selectorProblems(selector, "spec.selector"));

/** Whether a selector of a workload is there and cannot be read. */
export function hasUnreadableSelector(object: JsonObject): boolean {
  const selector = memberAt(object, ["spec", "selector"]);
  return isJsonObject(selector) && ownProblems(selector).length > 0;
}

/** What is wrong with the selector of a workload, and with its template when the selector does not pick its Pods; in parts. */
export function* selectorErrors(
  object: JsonObject,
  { noun, isRequired, unreadable }: SelectorRules,
): Work<FieldError[]> {
  const selector = memberAt(object, ["spec", "selector"]);
  const labels = memberAt(object, ["spec", "template", "metadata", "labels"]) ?? null;
  const mismatch = (): FieldError[] => [
    invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"),
  ];
  if (!isJsonObject(selector)) return [...(isRequired ? [requiredValue("spec.selector")] : []), ...mismatch()];
  const own = ownProblems(selector);
  yield;
  if (Object.keys(objectAt(selector, ["matchLabels"])).length + listAt(selector, "matchExpressions").length === 0) {
    return [...own, invalidValue("spec.selector", {}, `empty selector is invalid for ${noun}`)];
  }
  if (own.length > 0)
    return [...own, ...(isRequired ? [invalidPrinted("spec.selector", selectorInGo(selector), unreadable)] : [])];
  const given = isJsonObject(labels) ? (labels as Record<string, string>) : {};
  return meetsLabelSelector(selector as LabelSelectorObject, given) ? [] : mismatch();
}
