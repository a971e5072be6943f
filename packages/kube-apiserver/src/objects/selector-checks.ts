// SPDX-License-Identifier: Apache-2.0
import { type FieldError, forbiddenValue, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems, labelValueProblems, validateLabels } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { type LabelSelectorObject, labelSelectorOf, matchesLabels } from "@purlin/kube-objects/selector";
import { all, type Check, eachItem, listAt } from "./checks.ts";

const expression: Check = (one, path) => {
  const [operator, key] = [stringAt(one, ["operator"]), stringAt(one, ["key"])];
  const values = memberAt(one, ["values"]);
  const texts = Array.isArray(values) ? values.map(String) : [];
  return [
    ...operatorErrors(operator, texts.length > 0, path),
    ...labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
    ...texts.flatMap((text, index) =>
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

/** How the kinds differ in what they say about a selector that is not there or says nothing. */
interface SelectorRules {
  /** What the kind calls itself there. */
  readonly noun: string;
  readonly isRequired: boolean;
  /** What is said of a selector that cannot be read. */
  readonly unreadable: string;
}

/** What is wrong with the selector of a workload, and with its template when the selector does not pick its Pods. */
export function selectorErrors(object: JsonObject, { noun, isRequired, unreadable }: SelectorRules): FieldError[] {
  const selector = memberAt(object, ["spec", "selector"]);
  const labels = memberAt(object, ["spec", "template", "metadata", "labels"]) ?? null;
  const mismatch = [
    invalidValue("spec.template.metadata.labels", labels, "`selector` does not match template `labels`"),
  ];
  if (!isJsonObject(selector)) return [...(isRequired ? [requiredValue("spec.selector")] : []), ...mismatch];
  const own = selectorProblems(selector, "spec.selector");
  if (Object.keys(objectAt(selector, ["matchLabels"])).length + listAt(selector, "matchExpressions").length === 0) {
    return [...own, invalidValue("spec.selector", {}, `empty selector is invalid for ${noun}`)];
  }
  if (own.length > 0) return [...own, ...(isRequired ? [invalidValue("spec.selector", selector, unreadable)] : [])];
  const isMatching = matchesLabels(
    labelSelectorOf(selector as LabelSelectorObject),
    isJsonObject(labels) ? (labels as Record<string, string>) : {},
  );
  return isMatching ? [] : mismatch;
}
