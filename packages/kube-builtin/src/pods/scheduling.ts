// SPDX-License-Identifier: Apache-2.0
// Where a Pod may run, and when.
import {
  all,
  type Check,
  eachItem,
  listAt,
  maybeNamed,
  oneOf,
  selectorProblems,
  within,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goJson, isNumber, type JsonObject, ownValue } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { exactlyOneOf, hasObject, optionallyOneOf } from "../checks/rule-checks.ts";
import { nodeSelector, nodeSelectorTerm } from "../storage/volume-spec.ts";

const weight: Check = (one, path) => {
  const value = numberAt(one, ["weight"]);
  return value > 0 && value <= 100 ? [] : [invalidValue(`${path}.weight`, value, "must be in the range 1-100")];
};

const labelKey = (key: string, path: string): FieldError[] =>
  labelKeyProblems(key).map((problem) => invalidValue(path, key, problem));

/** Labels of the Pod itself that select others; a selector has to be there for them. */
function labelKeys(one: JsonObject, name: string, path: string): FieldError[] {
  const keys = textsAt(one, [name]);
  if (keys.length === 0) return [];
  if (!hasObject(one, "labelSelector")) {
    return [forbiddenValue(`${path}.${name}`, "must not be specified when labelSelector is not set")];
  }
  return firstErrors(keys, (key, index) => labelKey(key, `${path}.${name}[${index}]`));
}

/** A key is in a selector twice when the server has added it, which it does for each of these keys. */
const matchKeys: Check = (one, path) => {
  const [keys, others] = [textsAt(one, ["matchLabelKeys"]), textsAt(one, ["mismatchLabelKeys"])];
  // Only these keys: the labels may be as many as fit into a request.
  const [labels, seen] = [objectAt(one, ["labelSelector", "matchLabels"]), new Set<string>()];
  const [lastIndexes, mismatched] = [new Map(keys.map((key, index) => [key, index])), new Set(others)];
  const both = "exists in both matchLabelKeys and labelSelector";
  const doubled = firstErrors(listAt(one, "labelSelector", "matchExpressions"), (expression) => {
    const key = stringAt(expression, ["key"]);
    const index = lastIndexes.get(key);
    if (index === undefined) return [];
    const isDoubled = seen.has(key) || ownValue(labels, key) !== undefined;
    seen.add(key);
    return isDoubled ? [invalidValue(`${path}[${index}]`, key, both)] : [];
  });
  return [
    ...labelKeys(one, "matchLabelKeys", path),
    ...labelKeys(one, "mismatchLabelKeys", path),
    ...doubled,
    ...firstErrors(keys, (key, index) =>
      mismatched.has(key)
        ? [invalidValue(`${path}.matchLabelKeys[${index}]`, key, "exists in both matchLabelKeys and mismatchLabelKeys")]
        : [],
    ),
  ];
};

const affinityTerm: Check = all(
  within("labelSelector", selectorProblems),
  within("namespaceSelector", selectorProblems),
  (term, path) =>
    firstErrors(textsAt(term, ["namespaces"]), (name) =>
      dns1123LabelProblems(name).map((problem) => invalidValue(`${path}.namespace`, name, problem)),
    ),
  matchKeys,
  (term, path) => {
    const [key, at] = [stringAt(term, ["topologyKey"]), `${path}.topologyKey`];
    return [...(key === "" ? [requiredValue(at, "can not be empty")] : []), ...labelKey(key, at)];
  },
);

const required = "requiredDuringSchedulingIgnoredDuringExecution";
const preferred = "preferredDuringSchedulingIgnoredDuringExecution";

const podAffinity: Check = all(
  eachItem(required, affinityTerm),
  eachItem(
    preferred,
    all(weight, (one, path) => affinityTerm(objectAt(one, ["podAffinityTerm"]), `${path}.podAffinityTerm`)),
  ),
);

const nodeAffinity: Check = all(
  within(required, nodeSelector),
  eachItem(
    preferred,
    all(weight, (one, path) => preferredTerm(objectAt(one, ["preference"]), `${path}.preference`)),
  ),
);

/** The values of a term that is only preferred may be anything. */
const preferredTerm = nodeSelectorTerm({ checksValues: false });

/** Which nodes and which neighbors a Pod wants. */
export const affinity: Check = within(
  "affinity",
  all(within("nodeAffinity", nodeAffinity), within("podAffinity", podAffinity), within("podAntiAffinity", podAffinity)),
);

const actions = ["DoNotSchedule", "ScheduleAnyway"];
const inclusions = ["Honor", "Ignore"];

/** What makes two constraints the same. */
const spreadKey = (spread: JsonObject): string =>
  JSON.stringify([spread["topologyKey"] ?? "", spread["whenUnsatisfiable"] ?? ""]);

function spreadErrors(spread: JsonObject, path: string, isRepeated: boolean): FieldError[] {
  const [skew, least] = [numberAt(spread, ["maxSkew"]), memberAt(spread, ["minDomains"])];
  const [key, action] = [stringAt(spread, ["topologyKey"]), stringAt(spread, ["whenUnsatisfiable"])];
  const positive = "must be greater than zero";
  const only = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${action}`;
  return [
    ...(skew > 0 ? [] : [invalidValue(`${path}.maxSkew`, skew, positive)]),
    ...(key === "" ? [requiredValue(`${path}.topologyKey`, "can not be empty")] : []),
    ...exactlyOneOf("whenUnsatisfiable", actions)(spread, path),
    ...(isRepeated ? [duplicateValue(`${path}.{topologyKey, whenUnsatisfiable}`, `{${key}, ${action}}`)] : []),
    ...(typeof least === "number" && least <= 0 ? [invalidValue(`${path}.minDomains`, least, positive)] : []),
    ...(typeof least === "number" && action !== "DoNotSchedule"
      ? [invalidValue(`${path}.minDomains`, least, only)]
      : []),
    ...optionallyOneOf("nodeAffinityPolicy", inclusions)(spread, path),
    ...optionallyOneOf("nodeTaintsPolicy", inclusions)(spread, path),
    ...matchKeys(spread, path),
    ...within("labelSelector", selectorProblems)(spread, path),
  ];
}

/** How Pods are spread over nodes. */
export const topologySpread: Check = (spec, path) => {
  const list = listAt(spec, "topologySpreadConstraints");
  const lastIndexes = new Map(list.map((one, index) => [spreadKey(one), index]));
  return firstErrors(list, (one, index) => {
    const isRepeated = lastIndexes.get(spreadKey(one)) !== index;
    return spreadErrors(one, `${path}.topologySpreadConstraints[${index}]`, isRepeated);
  });
};

/** Conditions that keep a Pod from being scheduled. */
export const schedulingGates: Check = (spec, path) => {
  const seen = new Set<string>();
  return firstErrors(listAt(spec, "schedulingGates"), (gate, index) => {
    const [name, at] = [stringAt(gate, ["name"]), `${path}.schedulingGates[${index}]`];
    const isTaken = seen.has(name);
    seen.add(name);
    return [...labelKey(name, at), ...(isTaken ? [duplicateValue(at, name)] : [])];
  });
};

/** The errors of a toleration. */
export function tolerationErrors(toleration: JsonObject, path: string): FieldError[] {
  const [key, operator, value] = [
    stringAt(toleration, ["key"]),
    stringAt(toleration, ["operator"]),
    stringAt(toleration, ["value"]),
  ];
  const everything = 'operator must be Exists when `key` is empty, which means "match all values and all keys"';
  const hasSeconds = isNumber(memberAt(toleration, ["tolerationSeconds"]));
  const effect = stringAt(toleration, ["effect"]);
  const executes = "effect must be 'NoExecute' when `tolerationSeconds` is set";
  return [
    ...maybeNamed("key", labelKeyProblems)(toleration, path),
    ...(key === "" && operator !== "Exists" ? [invalidValue(`${path}.operator`, operator, everything)] : []),
    ...(hasSeconds && effect !== "NoExecute" ? [invalidValue(`${path}.effect`, effect, executes)] : []),
    ...operatorErrors(operator, value, `${path}.operator`),
    ...oneOf("effect", ["NoSchedule", "PreferNoSchedule", "NoExecute"])(toleration, path),
  ];
}

function operatorErrors(operator: string, value: string, path: string): FieldError[] {
  switch (operator) {
    case "":
    case "Equal": {
      const problems = labelValueProblems(value);
      return problems.length === 0 ? [] : [invalidValue(path, value, problems.join(";"))];
    }
    case "Exists":
      return value === "" ? [] : [invalidValue(path, value, "value must be empty when `operator` is 'Exists'")];
    default: {
      const isKnown = operator === "Lt" || operator === "Gt";
      return [unsupportedValue(path, operator, ["Equal", "Exists", ...(isKnown ? ["Lt", "Gt"] : [])])];
    }
  }
}

/** The claims of devices that a Pod names for its containers. */
export const resourceClaims: Check = (spec, path) => {
  const names = new Set<string>();
  return firstErrors(listAt(spec, "resourceClaims"), (claim, index) => {
    const at = `${path}.resourceClaims[${index}]`;
    const name = stringAt(claim, ["name"]);
    const isTaken = names.has(name);
    names.add(name);
    return [...claimNameErrors(name, isTaken, `${at}.name`), ...claimSourceErrors(claim, at)];
  });
};

function claimNameErrors(name: string, isTaken: boolean, at: string): FieldError[] {
  if (name === "") return [requiredValue(at)];
  if (isTaken) return [duplicateValue(at, name)];
  return dns1123LabelProblems(name).map((problem) => invalidValue(at, name, problem));
}

function claimSourceErrors(claim: JsonObject, path: string): FieldError[] {
  const members = ["resourceClaimName", "resourceClaimTemplateName"];
  const given = members.filter((name) => typeof memberAt(claim, [name]) === "string");
  const text = (name: string): string => goJson(memberAt(claim, [name]) ?? null);
  const printed = `{"Name":${goJson(stringAt(claim, ["name"]))},"ResourceClaimName":${text("resourceClaimName")},"ResourceClaimTemplateName":${text("resourceClaimTemplateName")}}`;
  const [both, none] = [
    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
  ];
  return [
    ...(given.length === 2 ? [invalidPrinted(path, printed, both)] : []),
    ...(given.length === 0 ? [invalidPrinted(path, printed, none)] : []),
    ...given.flatMap((name) =>
      dns1123SubdomainProblems(stringAt(claim, [name])).map((problem) =>
        invalidValue(`${path}.${name}`, stringAt(claim, [name]), problem),
      ),
    ),
  ];
}
