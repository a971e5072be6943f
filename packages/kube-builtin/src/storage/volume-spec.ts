// SPDX-License-Identifier: Apache-2.0
import { posix } from "node:path";
import { all, type Check, eachItem, listAt, maybeNamed, within } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  firstErrorsByName,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  keyPath,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, labelKeyProblems, labelValueProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos } from "@purlin/kube-objects/typed";
import { goForm } from "../checks/go-form.ts";
import { eachText, hasObject, optionallyOneOf } from "../checks/rule-checks.ts";
import { volumeSources } from "./volume-sources.ts";

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

const labelRequirement: Check = all(operator, (one, path) => {
  const key = stringAt(one, ["key"]);
  return labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem));
});
const strictRequirement: Check = all(labelRequirement, eachText("values", labelValueProblems));

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

/** A term of a selector of nodes. Values that no label can have are refused where they matter. */
export function nodeSelectorTerm({ checksValues }: { readonly checksValues: boolean }): Check {
  return all(
    eachItem("matchExpressions", checksValues ? strictRequirement : labelRequirement),
    eachItem("matchFields", fieldRequirement),
  );
}

/** A selector of nodes by labels and fields. */
export const nodeSelector: Check = (selector, path) =>
  listAt(selector, "nodeSelectorTerms").length === 0
    ? [requiredValue(`${path}.nodeSelectorTerms`, "must have at least one node selector term")]
    : eachItem("nodeSelectorTerms", nodeSelectorTerm({ checksValues: true }))(selector, path);

const modes = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];

/** How a volume or a claim is used. */
export const accessModes: Check = (spec, path) => {
  const given = textsAt(spec, ["accessModes"]);
  const [at, known] = [`${path}.accessModes`, given.filter((mode) => modes.includes(mode))];
  const isMixed = known.includes("ReadWriteOncePod") && known.some((mode) => mode !== "ReadWriteOncePod");
  return [
    ...firstErrors(given, (mode) => (modes.includes(mode) ? [] : [unsupportedValue(at, mode, modes)])),
    ...(isMixed ? [forbiddenValue(at, "may not use ReadWriteOncePod with other access modes")] : []),
  ];
};

/** Whether a volume has a file system. */
export const volumeMode: Check = optionallyOneOf("volumeMode", ["Block", "Filesystem"]);

const someMode: Check = (spec, path) =>
  textsAt(spec, ["accessModes"]).length === 0 ? [requiredValue(`${path}.accessModes`)] : [];

/** An amount of storage that must be more than nothing. */
export function positiveAmount(amount: string, path: string): FieldError[] {
  return compareQuantities(amount, "0") <= 0 ? [invalidValue(path, amount, "must be greater than zero")] : [];
}

/** An amount that is not below zero. */
export function basicAmount(amount: string, path: string): FieldError[] {
  if (/^\d{1,15}$/.test(amount)) return [];
  const nanos = quantityNanos(amount);
  // A fraction is rounded up to the next whole number, away from zero.
  const whole = nanos < 0n ? -((-nanos + 999_999_999n) / 1_000_000_000n) : 0n;
  return nanos < 0n ? [invalidValue(path, Number(whole), "must be a valid resource quantity")] : [];
}

const capacity: Check = (spec, path) => {
  const amounts = objectAt(spec, ["capacity"]);
  const [names, at] = [Object.keys(amounts), `${path}.capacity`];
  const isStorage = names.length === 1 && names[0] === "storage";
  return [
    ...(names.length === 0 ? [requiredValue(at)] : []),
    ...(isStorage ? [] : [unsupportedValue(at, hasObject(spec, "capacity") ? amounts : null, ["storage"])]),
    ...firstErrorsByName(amounts, (name) => {
      const amount = String(amounts[name]);
      return [...basicAmount(amount, keyPath(at, name)), ...positiveAmount(amount, keyPath(at, name))];
    }),
  ];
};

const affinity: Check = (one, path) =>
  hasObject(one, "required")
    ? nodeSelector(objectAt(one, ["required"]), `${path}.required`)
    : [requiredValue(`${path}.required`, "must specify required node constraints")];

const otherPath: Readonly<Record<string, string>> = { cephfs: "cephFS" };
const ownPath: Readonly<Record<string, string>> = { gcePersistentDisk: "persistentDisk" };

const source: Check = (spec, path) => {
  const given = Object.keys(volumeSources).filter((name) => hasObject(spec, name));
  const [first] = given;
  if (first === undefined) return [requiredValue(path, "must specify a volume type")];
  return firstErrors(given, (name, index) => {
    const check = volumeSources[name];
    if (index > 0 && name !== "flexVolume") {
      return [forbiddenValue(`${path}.${otherPath[name] ?? name}`, "may not specify more than 1 volume type")];
    }
    return check?.(objectAt(spec, [name]), `${path}.${ownPath[name] ?? name}`) ?? [];
  });
};

/** Only a source that counts needs nodes: the first one. */
const localNeedsNodes: Check = (spec, path) =>
  Object.keys(volumeSources).find((name) => hasObject(spec, name)) === "local"
    ? [requiredValue(`${path}.nodeAffinity`, "Local volume requires node affinity")]
    : [];

const recycledRoot: Check = (spec, path) => {
  const isRoot = posix.normalize(stringAt(spec, ["hostPath", "path"])) === "/";
  return isRoot && stringAt(spec, ["persistentVolumeReclaimPolicy"]) === "Recycle"
    ? [forbiddenValue(`${path}.persistentVolumeReclaimPolicy`, "may not be 'recycle' for a hostPath mount of '/'")]
    : [];
};

const attributesClass: Check = (spec, path) => {
  const name = memberAt(spec, ["volumeAttributesClassName"]);
  if (typeof name !== "string") return [];
  const at = `${path}.volumeAttributesClassName`;
  return [
    ...(name === "" ? [requiredValue(at, "an empty string is disallowed")] : []),
    ...maybeNamed("volumeAttributesClassName", dns1123SubdomainProblems)(spec, path),
    ...(hasObject(spec, "csi")
      ? []
      : [requiredValue(`${path}.csi`, "has to be specified when using volumeAttributesClassName")]),
  ];
};

const reclaimPolicies = ["Delete", "Recycle", "Retain"];

const reclaimPolicy: Check = (spec, path) => {
  const policy = stringAt(spec, ["persistentVolumeReclaimPolicy"]);
  return policy === "" || reclaimPolicies.includes(policy)
    ? []
    : [unsupportedValue(`${path}.persistentVolumeReclaimPolicy`, policy, reclaimPolicies)];
};

/** The spec of a PersistentVolume. */
export const volumeSpec: Check = all(
  someMode,
  accessModes,
  capacity,
  reclaimPolicy,
  within("nodeAffinity", affinity),
  source,
  (spec, path) => (hasObject(spec, "nodeAffinity") ? [] : localNeedsNodes(spec, path)),
  recycledRoot,
  maybeNamed("storageClassName", dns1123SubdomainProblems),
  volumeMode,
  attributesClass,
);

/** Labels of nodes that replaced others. */
const newLabels: Readonly<Record<string, string>> = {
  "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
  "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
  "beta.kubernetes.io/os": "kubernetes.io/os",
  "beta.kubernetes.io/arch": "kubernetes.io/arch",
  "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
};

/** The nodes of a volume stay, once it has some. */
export function nodeAffinityChange(volume: JsonObject, old: JsonObject): FieldError[] {
  const before = memberAt(old, ["spec", "nodeAffinity"]);
  const now = memberAt(volume, ["spec", "nodeAffinity"]) ?? null;
  if (!isJsonObject(before) || jsonEqual(now, withNewLabels(before, now))) return [];
  const why = "field is immutable, except for updating from beta label to GA";
  return [invalidPrinted("nodeAffinity", now === null ? "null" : goForm("VolumeNodeAffinity", now), why)];
}

/** A value with the keys of its requirements replaced where the other value has the new key at the same place. */
function withNewLabels(value: JsonValue, other: JsonValue | undefined): JsonValue {
  if (isJsonArray(value)) {
    return value.map((item, index) => withNewLabels(item, isJsonArray(other) ? other[index] : undefined));
  }
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).map(([name, member]) => {
    const given = isJsonObject(other) ? other[name] : undefined;
    const isRenamed = name === "key" && typeof given === "string" && newLabels[String(member)] === given;
    return [name, isRenamed ? given : withNewLabels(member ?? null, given)] as const;
  });
  return Object.fromEntries(members) as JsonObject;
}

const inlineText = "in the context of inline volumes";
const notInline = `may not be specified ${inlineText}`;

/** Members that an inline volume must not have. */
function notInlineMembers(...names: readonly string[]): Check {
  const isSet = (value: JsonValue | undefined): boolean =>
    typeof value === "string" ? value !== "" : isJsonObject(value);
  return (spec, path) =>
    names.filter((name) => isSet(spec[name])).map((name) => forbiddenValue(`${path}.${name}`, notInline));
}

/** A member that an inline volume has with one value, if at all. */
function onlyInline(name: string, value: string, text: string): Check {
  return (spec, path) => {
    const given = memberAt(spec, [name]) ?? value;
    return given === value ? [] : [forbiddenValue(`${path}.${name}`, `${text} ${inlineText}`)];
  };
}

const inlineCapacity: Check = (spec, path) =>
  Object.keys(objectAt(spec, ["capacity"])).length > 0 ? notInlineMembers("capacity")(spec, path) : [];

const inlineDriver: Check = (spec, path) =>
  hasObject(spec, "csi") ? [] : [requiredValue(`${path}.csi`, `has to be specified ${inlineText}`)];

/** The spec of a volume that has no PersistentVolume, in the order in which the reference validates it. */
export const inlineVolume: Check = all(
  notInlineMembers("claimRef"),
  inlineCapacity,
  inlineDriver,
  someMode,
  accessModes,
  onlyInline("persistentVolumeReclaimPolicy", "Retain", "may only be Retain"),
  notInlineMembers("nodeAffinity"),
  source,
  localNeedsNodes,
  recycledRoot,
  notInlineMembers("storageClassName"),
  onlyInline("volumeMode", "Filesystem", "may not specify volumeMode other than Filesystem"),
);
