// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  defineKinds,
  eachItem,
  type KindDefinition,
  type KindRow,
  type KindRules,
  type KindSource,
  listAt,
  oneOf,
  selectorInGo,
  statusSubresource,
} from "@purlin/kube-apiserver/kinds";
import {
  duplicateValue,
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  repeatsIn,
  requiredValue,
  tooLong,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, jsonEqual, utf8Length } from "@purlin/kube-objects/json";
import { dns1123SubdomainProblems, labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import {
  atRoot,
  changes,
  deprecatedNodeLabel,
  exactlyOneOf,
  immutable,
  selectorAt,
  termWarnings,
} from "../checks/rule-checks.ts";
import { attachmentRules, csiNodeRules, driverRules } from "./driver-rules.ts";
import {
  attributesClassProtection,
  claimProtection,
  ProtectionController,
  storageObjectInUseProtection,
  volumeProtection,
} from "./volume-protection.ts";
import { claimRules, volumeRules } from "./volume-rules.ts";

/** PersistentVolumes and their claims. */
export function volumeKinds({ store, now }: Parameters<KindSource>[0]): KindRow[] {
  return [
    {
      resource: "persistentvolumeclaims",
      kind: "PersistentVolumeClaim",
      short: ["pvc"],
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: claimRules,
      admission: [storageObjectInUseProtection],
      controllers: (deps) => [new ProtectionController(store, claimProtection, deps)],
    },
    {
      resource: "persistentvolumes",
      kind: "PersistentVolume",
      short: ["pv"],
      cluster: true,
      subresources: [statusSubresource],
      write: { returnsDeleted: true },
      rules: volumeRules(now),
      controllers: (deps) => [new ProtectionController(store, volumeProtection, deps)],
    },
  ];
}

const clusterClass: Pick<KindRow, "cluster" | "write"> = { cluster: true, write: { returnsDeleted: true } };

/** The kinds of storage.k8s.io. */
export const storageKinds = ({ store }: Pick<Parameters<KindSource>[0], "store">): readonly KindDefinition[] =>
  defineKinds({ group: "storage.k8s.io", version: "v1", priority: 16_800 }, [
    {
      resource: "csidrivers",
      kind: "CSIDriver",
      cluster: true,
      write: { unconditionalUpdate: false, returnsDeleted: true, generation: "changed-spec" },
      rules: driverRules,
    },
    {
      resource: "csinodes",
      kind: "CSINode",
      cluster: true,
      write: { unconditionalUpdate: false, returnsDeleted: true },
      rules: csiNodeRules,
    },
    {
      resource: "csistoragecapacities",
      kind: "CSIStorageCapacity",
      write: { unconditionalUpdate: false },
      rules: storageCapacityRules,
    },
    {
      resource: "storageclasses",
      kind: "StorageClass",
      short: ["sc"],
      ...clusterClass,
      rules: storageClassRules,
    },
    {
      resource: "volumeattachments",
      kind: "VolumeAttachment",
      cluster: true,
      subresources: [statusSubresource],
      write: { unconditionalUpdate: false, returnsDeleted: true },
      rules: attachmentRules,
    },
    {
      resource: "volumeattributesclasses",
      kind: "VolumeAttributesClass",
      short: ["vac"],
      ...clusterClass,
      rules: attributesClassRules,
      controllers: (deps) => [new ProtectionController(store, attributesClassProtection, deps)],
    },
  ]);

// The rules of StorageClasses, VolumeAttributesClasses and CSIStorageCapacities.

/** The name of a driver or a provisioner: a qualified name in any case. */
function provisioner(name: string): Check {
  return (object, path) => {
    const text = stringAt(object, [name]).toLowerCase();
    if (text === "") return [requiredValue(`${path}.${name}`)];
    return labelKeyProblems(text).map((problem) => invalidValue(`${path}.${name}`, text, problem));
  };
}

const mostParameters = 512;
const parametersBytes = 256 * 1024;

function parameters({ required }: { readonly required: boolean }): Check {
  return (object, path) => {
    const entries = Object.entries(objectAt(object, ["parameters"]));
    const at = `${path}.parameters`;
    if (entries.length > mostParameters) return [tooLong(at, mostParameters)];
    const size = entries.reduce((sum, [key, value]) => sum + utf8Length(key) + utf8Length(String(value)), 0);
    return [
      ...entries.filter(([key]) => key === "").map(() => invalidValue(at, "", "field can not be empty.")),
      ...(size > parametersBytes ? [tooLong(at, parametersBytes)] : []),
      ...(required && entries.length === 0 ? [requiredValue(at, "must contain at least one key/value pair")] : []),
    ];
  };
}

const topologyKey: Check = (requirement, path) => {
  const [key, values] = [stringAt(requirement, ["key"]), textsAt(requirement, ["values"])];
  const isRepeated = repeatsIn(values);
  return [
    ...(values.length === 0 ? [requiredValue(`${path}.values`)] : []),
    ...firstErrors(values, (value, index) =>
      isRepeated(index) ? [duplicateValue(`${path}.values[${index}]`, value)] : [],
    ),
    ...labelKeyProblems(key).map((problem) => invalidValue(`${path}.key`, key, problem)),
  ];
};

const topologies: Check = (object, path) => {
  // A term without expressions counts as a repetition.
  const seen = new Set<string>(["[]"]);
  return firstErrors(listAt(object, "allowedTopologies"), (term, index) => {
    const at = `${path}.allowedTopologies[${index}]`;
    const expressions = listAt(term, "matchLabelExpressions");
    const keys = expressions.map((one) => stringAt(one, ["key"]));
    const isRepeated = repeatsIn(keys);
    const texts = expressions.map((one, n) => JSON.stringify([keys[n], textsAt(one, ["values"]).toSorted()]));
    const content = `[${texts.sort().join(",")}]`;
    const isTaken = seen.has(content);
    seen.add(content);
    return [
      ...eachItem("matchLabelExpressions", topologyKey)(term, at),
      ...firstErrors(keys, (key, n) =>
        isRepeated(n) ? [duplicateValue(`${at}.matchLabelExpressions[${n}].key`, key)] : [],
      ),
      ...(isTaken ? [duplicateValue(`${at}.matchLabelExpressions`, "")] : []),
    ];
  });
};

/** Topologies that name labels of nodes by their old names. */
function topologyWarnings(storageClass: JsonObject): string[] {
  return listAt(storageClass, "allowedTopologies").flatMap((term, index) =>
    listAt(term, "matchLabelExpressions").flatMap((one, place) => {
      const text = deprecatedNodeLabel(stringAt(one, ["key"]));
      return text === undefined ? [] : [`allowedTopologies[${index}].matchLabelExpressions[${place}].key: ${text}`];
    }),
  );
}

/** The rules of StorageClasses. */
const storageClassRules: KindRules = {
  warnings: topologyWarnings,
  validate: atRoot(
    all(
      provisioner("provisioner"),
      parameters({ required: false }),
      oneOf("reclaimPolicy", ["Delete", "Retain"]),
      exactlyOneOf("volumeBindingMode", ["Immediate", "WaitForFirstConsumer"]),
      topologies,
    ),
  ),
  validateChange: changes(
    ...["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"].map((name) => immutable([name])),
  ),
};

function attributesChange(object: JsonObject, old: JsonObject): FieldError[] {
  const isChanged = (name: string): boolean => !jsonEqual(object[name] ?? null, old[name] ?? null);
  return ["driverName", "parameters"]
    .filter(isChanged)
    .map((name) => forbiddenValue(name, `updates to ${name} are forbidden.`));
}

/** The rules of VolumeAttributesClasses. */
const attributesClassRules: KindRules = {
  validate: atRoot(all(provisioner("driverName"), parameters({ required: true }))),
  validateChange: attributesChange,
};

const capacity: Check = (object, path) => {
  const [className, amount] = [stringAt(object, ["storageClassName"]), memberAt(object, ["capacity"])];
  const isNegative = typeof amount === "string" && compareQuantities(amount, "0") < 0;
  return [
    ...dns1123SubdomainProblems(className).map((problem) =>
      invalidValue(`${path}.storageClassName`, className, problem),
    ),
    ...(isNegative ? [invalidValue(`${path}.capacity`, amount, "must be greater than or equal to 0")] : []),
  ];
};

/** The nodes of a capacity stay. */
const fixedTopology: NonNullable<KindRules["validateChange"]> = (object, old) => {
  const [now, before] = [memberAt(object, ["nodeTopology"]) ?? null, memberAt(old, ["nodeTopology"]) ?? null];
  const printed = isJsonObject(now) ? selectorInGo(now) : "null";
  return jsonEqual(now, before) ? [] : [invalidPrinted("nodeTopology", printed, "field is immutable")];
};

/** Nodes that are selected by old names of labels. */
function capacityWarnings(object: JsonObject): string[] {
  const topology = objectAt(object, ["nodeTopology"]);
  return [
    ...termWarnings(topology, "nodeTopology"),
    ...Object.keys(objectAt(topology, ["matchLabels"])).flatMap((label) => {
      const text = deprecatedNodeLabel(label);
      return text === undefined ? [] : [`nodeTopology.matchLabels.${label}: ${text}`];
    }),
  ];
}

/** The rules of CSIStorageCapacities. */
const storageCapacityRules: KindRules = {
  warnings: capacityWarnings,
  validate: atRoot(all(selectorAt("nodeTopology"), capacity)),
  validateChange: changes(fixedTopology, immutable(["storageClassName"])),
};
