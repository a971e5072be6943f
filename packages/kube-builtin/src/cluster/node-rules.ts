// SPDX-License-Identifier: Apache-2.0
import { type Endpoint, type KindRules, listAt } from "@purlin/kube-apiserver/kinds";
import {
  duplicatePrinted,
  duplicateValue,
  type FieldError,
  firstErrors,
  firstErrorsByName,
  forbiddenValue,
  internalFieldError,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { rangeErrors, rangeOf, rangeWarnings } from "../checks/addresses.ts";
import { amountErrors } from "../checks/resource-names.ts";
import { goStruct, noNamespaceField } from "../checks/rule-checks.ts";

const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };

/** A new node takes no Pods until a controller finds it ready. */
function withNotReadyTaint(node: JsonObject): JsonObject {
  const taints = listAt(node, "spec", "taints");
  const isThere = taints.some(
    (taint) => stringAt(taint, ["key"]) === notReady.key && stringAt(taint, ["effect"]) === notReady.effect,
  );
  return isThere ? node : { ...node, spec: { ...objectAt(node, ["spec"]), taints: [...taints, notReady] } };
}

const effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/** A taint as the reference prints it. */
function inGo(taint: JsonObject): JsonObject {
  return {
    Key: stringAt(taint, ["key"]),
    Value: stringAt(taint, ["value"]),
    Effect: stringAt(taint, ["effect"]),
    TimeAdded: memberAt(taint, ["timeAdded"]) ?? null,
  };
}

function taintErrors(node: JsonObject): FieldError[] {
  const seen = new Set<string>();
  return firstErrors(listAt(node, "spec", "taints"), (taint, index) => {
    const path = `metadata.taints[${index}]`;
    const [key, value, effect] = ["key", "value", "effect"].map((name) => stringAt(taint, [name])) as [
      string,
      string,
      string,
    ];
    const isTaken = seen.has(`${effect}/${key}`);
    seen.add(`${effect}/${key}`);
    const problems = labelValueProblems(value);
    return [
      ...labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
      ...(problems.length === 0 ? [] : [invalidValue(`${path}.value`, value, problems.join(";"))]),
      ...(effect === "" ? [requiredValue(`${path}.effect`)] : []),
      ...(effect === "" || effects.includes(effect) ? [] : [unsupportedValue(`${path}.effect`, effect, effects)]),
      ...(isTaken ? [duplicateTaint(path, taint)] : []),
    ];
  });
}

function duplicateTaint(path: string, taint: JsonObject): FieldError {
  const { body, ...error } = duplicatePrinted(path, goStruct(inGo(taint)));
  return { ...error, body: `${body}: taints must be unique by key and effect pair` };
}

/** Capacities are never negative, and whole where a resource is counted. */
function capacityErrors(node: JsonObject): FieldError[] {
  return ["capacity", "allocatable"].flatMap((member) => {
    const amounts = objectAt(node, ["status", member]);
    return firstErrorsByName(amounts, (name) => amountErrors(name, String(amounts[name]), `status.${member}.${name}`));
  });
}

const featureName = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const featureForm =
  "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
const longestFeature = 253;

/** The features that a node declares are named like gates of features, and sorted. */
function featureErrors(node: JsonObject): FieldError[] {
  const features = textsAt(node, ["status", "declaredFeatures"]);
  return firstErrors(features, (feature, index) => {
    const path = `status.declaredFeatures[${index}]`;
    const previous = features[index - 1];
    const isLong = Buffer.byteLength(feature) > longestFeature;
    const why = isLong ? `must be no more than ${longestFeature} characters` : featureForm;
    const order = "list must be sorted alphabetically";
    return [
      ...(previous === feature ? [duplicateValue(path, feature)] : []),
      ...(previous !== undefined && compareBytes(previous, feature) > 0 ? [invalidValue(path, feature, order)] : []),
      ...(!isLong && featureName.test(feature)
        ? []
        : [invalidValue(path, feature, `invalid feature name ${goQuote(feature)}: ${why}`)]),
    ];
  });
}

const compareBytes = (one: string, other: string): number => Buffer.compare(Buffer.from(one), Buffer.from(other));

function rangeOfPodsErrors(node: JsonObject): FieldError[] {
  const ranges = textsAt(node, ["spec", "podCIDRs"]);
  const families = new Set(ranges.slice(0, 2).map((text) => rangeOf(text)?.address.bits));
  const wrong = ranges.findIndex((text) => rangeOf(text) === undefined);
  const isOnePerFamily = ranges.length < 2 || (ranges.length === 2 && families.size === 2 && wrong < 0);
  const unread = `invalid CIDR[${wrong}]: <nil> (invalid CIDR address: ${ranges[wrong] ?? ""})`;
  const why = "may specify no more than one CIDR for each IP family";
  return [
    ...firstErrors(ranges, (text, index) => rangeErrors(text, `spec.podCIDRs[${index}]`)),
    ...(wrong >= 0 && ranges.length > 1
      ? [internalFieldError("spec.podCIDRs", `invalid PodCIDRs. failed to check with dual stack with error:${unread}`)]
      : []),
    ...(isOnePerFamily ? [] : [invalidValue("spec.podCIDRs", ranges, why)]),
  ];
}

/** The first range of Pods has two fields; the older one decides. */
function withRanges(node: JsonObject): JsonObject {
  const [single, all] = [stringAt(node, ["spec", "podCIDR"]), textsAt(node, ["spec", "podCIDRs"])];
  if (single !== "" && single !== all[0]) return withMember(node, ["spec", "podCIDRs"], [single]);
  const [first] = all;
  return first === undefined || first === single ? node : withMember(node, ["spec", "podCIDR"], first);
}

const keptText = (name: string): string => `node updates may not change ${name} except from "" to valid`;

function nodeChange(node: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  const [now, before] = [node, old].map((one) => textsAt(one, ["spec", "podCIDRs"])) as [string[], string[]];
  const moved = now.length === before.length ? before.filter((range, index) => range !== now[index]) : [""];
  const id = stringAt(old, ["spec", "providerID"]);
  return [
    ...addressErrors(node),
    ...(before.length === 0 ? [] : moved.map(() => forbiddenValue("spec.podCIDRs", keptText("podCIDR")))),
    ...(id !== "" && id !== stringAt(node, ["spec", "providerID"])
      ? [forbiddenValue("spec.providerID", keptText("providerID"))]
      : []),
    ...(endpoint === "status" ? [] : taintErrors(node)),
    ...(stringAt(node, ["spec", "externalID"]) === stringAt(old, ["spec", "externalID"])
      ? []
      : [forbiddenValue("spec.externalID", "may not be updated")]),
  ];
}

function addressErrors(node: JsonObject): FieldError[] {
  const seen = new Set<string>();
  return firstErrors(listAt(node, "status", "addresses"), (one, index) => {
    const shown = { Type: stringAt(one, ["type"]), Address: stringAt(one, ["address"]) };
    const key = JSON.stringify(shown);
    const isTaken = seen.has(key);
    seen.add(key);
    return isTaken ? [duplicatePrinted(`status.addresses[${index}]`, goStruct(shown))] : [];
  });
}

function nodeWarnings(node: JsonObject): string[] {
  const isNamed = stringAt(node, ["spec", "externalID"]) !== "";
  return [
    ...(isNamed ? ["spec.externalID: this field is deprecated, and is unused by Kubernetes"] : []),
    ...textsAt(node, ["spec", "podCIDRs"]).flatMap((range, index) => rangeWarnings(range, `spec.podCIDRs[${index}]`)),
  ];
}

/** The rules of Nodes. */
export const nodeRules: KindRules = {
  warnings: (node, _old, endpoint) => (endpoint === "status" ? [] : nodeWarnings(node)),
  decode: withRanges,
  droppedFields: [
    ["spec", "configSource"],
    ["status", "config"],
  ],
  keepsNewStatus: true,
  prepareCreate: withNotReadyTaint,
  validate: (node) => [...taintErrors(node), ...capacityErrors(node), ...featureErrors(node)],
  validateNew: rangeOfPodsErrors,
  // The reference validates the whole object and then the change, which includes taints and capacities again.
  validateChange: (node, old, endpoint) => [
    ...(endpoint === "status" ? [] : [...rangeOfPodsErrors(node), ...capacityErrors(node), ...featureErrors(node)]),
    ...nodeChange(node, old, endpoint),
  ],
  fieldProblem: noNamespaceField,
  fields: { "spec.unschedulable": (node) => String(memberAt(node, ["spec", "unschedulable"]) === true) },
};
