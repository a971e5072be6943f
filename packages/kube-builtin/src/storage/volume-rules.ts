// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  type Endpoint,
  type KindRules,
  maybeNamed,
  metaOf,
  needed,
  within,
} from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  type FieldError,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
} from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  validateAnnotations,
  validateLabels,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { compareQuantities, quantityNanos } from "@purlin/kube-objects/typed";
import { immutable, inMember, selectorAt } from "../checks/rule-checks.ts";
import { volumeSources } from "./volume-sources.ts";
import { accessModes, positiveAmount, volumeMode, volumeSpec } from "./volume-spec.ts";

const sourceNames = Object.keys(volumeSources);

function volumeChange(volume: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  if (endpoint === "status") return [];
  const sourceOf = (one: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(objectAt(one, ["spec"])).filter(([name]) => sourceNames.includes(name)));
  const isSame = jsonEqual(sourceOf(volume), sourceOf(old));
  const why = "spec.persistentvolumesource is immutable after creation";
  return [
    ...inMember("spec", volumeSpec)(volume),
    ...(isSame ? [] : [forbiddenValue("spec.persistentvolumesource", why)]),
    ...immutable(["spec", "volumeMode"], "volumeMode")(volume, old, endpoint),
  ];
}

const oldAnnotations: Readonly<Record<string, string>> = {
  "volume.beta.kubernetes.io/storage-class": 'deprecated since v1.8; use "storageClassName" attribute instead',
  "volume.beta.kubernetes.io/mount-options": 'deprecated since v1.31; use "mountOptions" attribute instead',
};
const oldSources: Readonly<Record<string, string>> = {
  cephfs: "deprecated in v1.28, non-functional in v1.31+",
  photonPersistentDisk: "deprecated in v1.11, non-functional in v1.16+",
  scaleIO: "deprecated in v1.16, non-functional in v1.22+",
  storageos: "deprecated in v1.22, non-functional in v1.25+",
  glusterfs: "deprecated in v1.25, non-functional in v1.26+",
  rbd: "deprecated in v1.28, non-functional in v1.31+",
};
const recycled =
  "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.";

function volumeWarnings(volume: JsonObject): string[] {
  const annotations = metaOf(volume).annotations ?? {};
  const isRecycled = stringAt(volume, ["spec", "persistentVolumeReclaimPolicy"]) === "Recycle";
  return [
    ...Object.entries(oldAnnotations).flatMap(([key, text]) =>
      key in annotations ? [`metadata.annotations[${key}]: ${text}`] : [],
    ),
    ...(isRecycled ? [`spec.persistentVolumeReclaimPolicy: ${recycled}`] : []),
    ...Object.entries(oldSources).flatMap(([name, text]) =>
      isJsonObject(memberAt(volume, ["spec", name]))
        ? [`spec.${name === "storageos" ? "storageOS" : name}: ${text}`]
        : [],
    ),
  ];
}

/** The rules of PersistentVolumes. The status records when the phase changed. */
export function volumeRules(now: () => Date): KindRules {
  return {
    validate: inMember("spec", volumeSpec),
    validateChange: volumeChange,
    warnings: (volume, _old, endpoint) => (endpoint === "status" ? [] : volumeWarnings(volume)),
    prepareCreate: (object) => ({
      ...object,
      status: { phase: "Pending", lastPhaseTransitionTime: timestamp(now()) },
    }),
    prepareUpdate: (object, old, endpoint) => {
      if (endpoint !== "status") return object;
      const [status, before] = [objectAt(object, ["status"]), objectAt(old, ["status"])];
      const [time, earlier] = [status, before].map((one) => stringAt(one, ["lastPhaseTransitionTime"]));
      const isSamePhase = status["phase"] === before["phase"];
      if (isSamePhase ? time !== "" || earlier === "" : time !== "" && time !== earlier) return object;
      const lastPhaseTransitionTime = isSamePhase ? (earlier ?? "") : timestamp(now());
      return { ...object, status: { ...status, lastPhaseTransitionTime } };
    },
  };
}

const claimText = "field can not be less than status.capacity";

/** The storage that a claim asks for. */
const request: Check = (spec, path) => {
  const amount = memberAt(spec, ["resources", "requests", "storage"]);
  const at = `${path}.resources[storage]`;
  return amount === undefined ? [requiredValue(at)] : positiveAmount(String(amount), at);
};

const dataSource: Check = all(
  needed("name"),
  needed("kind"),
  maybeNamed("apiGroup", dns1123SubdomainProblems),
  (one, path) => {
    const kind = stringAt(one, ["kind"]);
    const why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
    return stringAt(one, ["apiGroup"]) === "" && kind !== "PersistentVolumeClaim"
      ? [invalidValue(path, kind, why)]
      : [];
  },
);

/** Both fields for the source of data say the same. The reference prints a path of its own as the value. */
const sameDataSource: Check = (spec, path) => {
  const [older, newer] = [memberAt(spec, ["dataSource"]), memberAt(spec, ["dataSourceRef"])];
  if (!isJsonObject(older) || !isJsonObject(newer)) return [];
  if (stringAt(newer, ["namespace"]) !== "") {
    return [invalidPrinted(path, "{}", "may not be specified when dataSourceRef.namespace is specified")];
  }
  const isSame = ["apiGroup", "kind", "name"].every((name) => stringAt(older, [name]) === stringAt(newer, [name]));
  return isSame ? [] : [invalidPrinted(path, "{}", "must match dataSourceRef")];
};

/** The spec of a claim, also in the template of another object. */
export const claimSpec: Check = all(
  (spec, path) =>
    textsAt(spec, ["accessModes"]).length > 0
      ? []
      : [requiredValue(`${path}.accessModes`, "at least 1 access mode is required")],
  selectorAt("selector"),
  accessModes,
  request,
  maybeNamed("storageClassName", dns1123SubdomainProblems),
  volumeMode,
  within("dataSource", dataSource),
  within("dataSourceRef", all(dataSource, maybeNamed("namespace", dns1123LabelProblems))),
  sameDataSource,
  maybeNamed("volumeAttributesClassName", dns1123SubdomainProblems),
);

/** Members of metadata that a template must not have. Their names in errors are those of the reference's own types. */
const templateMembers: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["name", "generateName", "namespace", "selfLink", "resourceVersion", "generation", "creationTimestamp"].map(
      (name) => [name, name],
    ),
  ),
  uid: "uID",
  ...Object.fromEntries(
    ["deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers", "managedFields"].map(
      (name) => [name, name],
    ),
  ),
};

/** The template of a claim in a volume of a Pod. */
export const claimTemplateErrors: Check = (template, path) => {
  const metadata = objectAt(template, ["metadata"]);
  const texts = (name: string): Record<string, string> => objectAt(metadata, [name]) as Record<string, string>;
  return [
    ...validateAnnotations(texts("annotations"), `${path}.metadata.annotations`),
    ...validateLabels(texts("labels"), `${path}.metadata.labels`),
    ...Object.entries(templateMembers)
      .filter(([name]) => (metadata[name] ?? null) !== null)
      .map(([, shown]) => forbiddenValue(`${path}.metadata.${shown}`, "cannot be set")),
    ...claimSpec(objectAt(template, ["spec"]), `${path}.spec`),
  ];
};

/** The spec of a claim without the members that may change. */
function fixedSpec(claim: JsonObject, old: JsonObject): JsonObject {
  const before = objectAt(old, ["spec"]);
  const isBound = stringAt(claim, ["status", "phase"]) === "Bound";
  const spec = { ...objectAt(claim, ["spec"]) };
  if (stringAt(before, ["volumeName"]) === "") delete spec["volumeName"];
  if (before["storageClassName"] === undefined) delete spec["storageClassName"];
  if (isBound) delete spec["volumeAttributesClassName"];
  return isBound ? withMember(spec, ["resources", "requests", "storage"], undefined) : spec;
}

function claimChange(claim: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  if (endpoint === "status") return [];
  const storage = ["spec", "resources", "requests", "storage"];
  const [now, before] = [claim, old].map((one) => stringAt(one, storage) || "0") as [string, string];
  const isLess = compareQuantities(now, before) < 0;
  const capacity = stringAt(old, ["status", "capacity", "storage"]) || "0";
  const isFixed = jsonEqual(fixedSpec(claim, old), fixedSpec(withMember(old, ["status"], claim["status"]), old));
  const why =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
  return [
    ...(isFixed ? [] : [forbiddenValue("spec", why)]),
    ...(isLess && compareQuantities(now, capacity) <= 0 ? [forbiddenValue(storage.join("."), claimText)] : []),
    ...immutable(["spec", "volumeMode"], "volumeMode")(claim, old, endpoint),
  ];
}

/** The groups of the kinds that the older field for the source of data accepts. */
const sourceGroups: Readonly<Record<string, string>> = {
  PersistentVolumeClaim: "",
  VolumeSnapshot: "snapshot.storage.k8s.io",
};

/** A new claim with its source of data in both fields. */
function withDataSource(claim: JsonObject): JsonObject {
  const [given, reference] = [memberAt(claim, ["spec", "dataSource"]), memberAt(claim, ["spec", "dataSourceRef"])];
  const isForeign = isJsonObject(reference) && stringAt(reference, ["namespace"]) !== "";
  const ref = isForeign ? undefined : reference;
  const isKnown = isJsonObject(given) && sourceGroups[stringAt(given, ["kind"])] === stringAt(given, ["apiGroup"]);
  // A client that names the newer field does not expect that the older one is dropped.
  const source = isKnown || isJsonObject(reference) ? given : undefined;
  const copy = (one: JsonValue | undefined): JsonValue | undefined => {
    if (!isJsonObject(one)) return undefined;
    const { namespace: _namespace, ...rest } = one;
    return rest;
  };
  const first = withMember(claim, ["spec", "dataSource"], source ?? copy(ref));
  return withMember(first, ["spec", "dataSourceRef"], ref ?? copy(source));
}

const milli = 1_000_000n;

/** Storage is counted in whole bytes. */
function claimWarnings(claim: JsonObject): string[] {
  const [old] = Object.entries(oldAnnotations) as [[string, string]];
  const fractions = ["requests", "limits"].flatMap((member) => {
    const amount = stringAt(claim, ["spec", "resources", member, "storage"]) || "0";
    const isWhole = ((quantityNanos(amount) + milli - 1n) / milli) % 1000n === 0n;
    const path = `spec.resources.${member}[storage]`;
    return isWhole ? [] : [`${path}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`];
  });
  const isAnnotated = old[0] in (metaOf(claim).annotations ?? {});
  return [...(isAnnotated ? [`metadata.annotations[${old[0]}]: ${old[1]}`] : []), ...fractions];
}

/** The rules of PersistentVolumeClaims. */
export const claimRules: KindRules = {
  warnings: (claim, _old, endpoint) => (endpoint === "status" ? [] : claimWarnings(claim)),
  prepareCreate: (claim) => ({ ...withDataSource(claim), status: { phase: "Pending" } }),
  prepareUpdate: (claim, old, endpoint) => {
    const had = ["dataSource", "dataSourceRef"].some((name) => memberAt(old, ["spec", name]) !== undefined);
    return endpoint === "status" || had ? claim : withDataSource(claim);
  },
  validate: inMember("spec", claimSpec),
  validateChange: claimChange,
};
