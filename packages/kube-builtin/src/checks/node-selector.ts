// SPDX-License-Identifier: Apache-2.0
import { all, type Check, eachItem, listAt } from "@purlin/kube-apiserver/kinds";
import { forbiddenValue, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { dns1123SubdomainProblems, labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { stringAt, textsAt } from "@purlin/kube-objects/object";
import { eachText } from "./rule-checks.ts";

const operator: Check = (one, path) => {
  const values = textsAt(one, ["values"]);
  const at = `${path}.values`;
  switch (stringAt(one, ["operator"])) {
    case "In":
    case "NotIn":
      return values.length > 0 ? [] : [requiredValue(at, "must be specified when `operator` is 'In' or 'NotIn'")];
    case "Exists":
    case "DoesNotExist":
      return values.length === 0
        ? []
        : [forbiddenValue(at, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")];
    case "Gt":
    case "Lt":
      return values.length === 1
        ? []
        : [requiredValue(at, "must be specified single value when `operator` is 'Lt' or 'Gt'")];
    default:
      return [invalidValue(`${path}.operator`, stringAt(one, ["operator"]), "not a valid selector operator")];
  }
};

const labelRequirement: Check = all(
  operator,
  (one, path) => {
    const key = stringAt(one, ["key"]);
    return labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem));
  },
  eachText("values", labelValueProblems),
);

const oneValue = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";

const fieldRequirement: Check = (one, path) => {
  const [key, values, own] = [stringAt(one, ["key"]), textsAt(one, ["values"]), stringAt(one, ["operator"])];
  const isKnown = own === "In" || own === "NotIn";
  return [
    ...(isKnown ? [] : [invalidValue(`${path}.operator`, own, "not a valid selector operator")]),
    ...(isKnown && values.length !== 1 ? [requiredValue(`${path}.values`, oneValue)] : []),
    ...(key === "metadata.name"
      ? eachText("values", dns1123SubdomainProblems)(one, path)
      : [invalidValue(`${path}.key`, key, "not a valid field selector key")]),
  ];
};

const nodeSelectorTerm: Check = all(
  eachItem("matchExpressions", labelRequirement),
  eachItem("matchFields", fieldRequirement),
);

/** A selector of nodes by labels and fields. */
export const nodeSelector: Check = (selector, path) =>
  listAt(selector, "nodeSelectorTerms").length === 0
    ? [requiredValue(`${path}.nodeSelectorTerms`, "must have at least one node selector term")]
    : eachItem("nodeSelectorTerms", nodeSelectorTerm)(selector, path);
