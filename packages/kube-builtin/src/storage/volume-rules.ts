// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  type Endpoint,
  type KindRules,
  listAt,
  maybeNamed,
  metaOf,
  needed,
  within,
} from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import {
  type FieldError,
  firstErrorsByName,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  keyPath,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, utf8Length } from "@purlin/kube-objects/json";
import {
  dns1123LabelProblems,
  dns1123SubdomainProblems,
  labelKeyProblems,
  validateAnnotations,
  validateLabels,
} from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
import { goDifference } from "../checks/go-form.ts";
import { amountErrors, fractionOfBytes, isNative } from "../checks/resource-names.ts";
import { immutable, inMember, selectorAt, termWarnings } from "../checks/rule-checks.ts";
import { volumeSources } from "./volume-sources.ts";
import { accessModes, basicAmount, nodeAffinityChange, positiveAmount, volumeMode, volumeSpec } from "./volume-spec.ts";

const sourceNames = Object.keys(volumeSources);

function volumeChange(volume: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  if (endpoint === "status") return [];
  const sourceOf = (one: JsonObject): JsonObject =>
    Object.fromEntries(Object.entries(objectAt(one, ["spec"])).filter(([name]) => sourceNames.includes(name)));
  // A volume that has no secret for its expansion can get one.
  const secret = ["csi", "controllerExpandSecretRef"];
  const [before, given] = [sourceOf(old), sourceOf(volume)];
  const isNewSecret =
    isJsonObject(before["csi"]) && memberAt(before, secret) === undefined && isJsonObject(given["csi"]);
  const now = isNewSecret ? withMember(given, secret, undefined) : given;
  const difference = goDifference("PersistentVolumeSource", before, now);
  const why = `spec.persistentvolumesource is immutable after creation\n${difference}`;
  return [
    ...volumeErrors(volume),
    ...(difference === "" ? [] : [forbiddenValue("spec.persistentvolumesource", why)]),
    ...immutable(["spec", "volumeMode"], "volumeMode")(volume, old, endpoint),
    ...nodeAffinityChange(volume, old),
    ...attributesChange(volume, old),
  ];
}

const longPortal =
  "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

function volumeErrors(volume: JsonObject): readonly FieldError[] {
  const portal = stringAt(volume, ["spec", "iscsi", "targetPortal"]);
  const isNamed = typeof memberAt(volume, ["spec", "iscsi", "initiatorName"]) === "string";
  const isLong = utf8Length(`${metaOf(volume).name ?? ""}:${portal}`) > 64;
  return [
    ...inMember("spec", volumeSpec)(volume),
    ...(isNamed && isLong ? [invalidValue("spec.iscsi.targetportal", portal, longPortal)] : []),
  ];
}

/** A volume that has a class of attributes keeps one. */
function attributesChange(volume: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [volume, old].map((one) => memberAt(one, ["spec", "volumeAttributesClassName"]));
  return typeof before === "string" && typeof now !== "string"
    ? [forbiddenValue("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden")]
    : [];
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
    ...listAt(objectAt(volume, ["spec", "nodeAffinity", "required"]), "nodeSelectorTerms").flatMap((term, index) => [
      ...termWarnings(term, `spec.nodeAffinity.required.nodeSelectorTerms[${index}]`),
    ]),
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
    validate: volumeErrors,
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

/** Lists among them: an empty one counts as set. */
export const templateLists: readonly string[] = ["ownerReferences", "finalizers", "managedFields"];

/** The metadata of a template: only labels and annotations. */
export const templateMetadata: Check = (template, path) => {
  const metadata = objectAt(template, ["metadata"]);
  const texts = (name: string): Record<string, string> => objectAt(metadata, [name]) as Record<string, string>;
  return [
    ...validateAnnotations(texts("annotations"), `${path}.metadata.annotations`),
    ...validateLabels(texts("labels"), `${path}.metadata.labels`),
    ...Object.entries(templateMembers)
      .filter(([name]) => (metadata[name] ?? null) !== null)
      .map(([, shown]) => forbiddenValue(`${path}.metadata.${shown}`, "cannot be set")),
  ];
};

/** The template of a claim in a volume of a Pod. */
export const claimTemplateErrors: Check = all(templateMetadata, (template, path) =>
  claimSpec(objectAt(template, ["spec"]), `${path}.spec`),
);

/** The specs of a claim before and after a change, without the changes that are accepted. */
function comparedSpecs(claim: JsonObject, old: JsonObject): readonly [JsonObject, JsonObject] {
  const [before, now] = [objectAt(old, ["spec"]), objectAt(claim, ["spec"])];
  const isBound = stringAt(claim, ["status", "phase"]) === "Bound";
  const storage = ["resources", "requests", "storage"];
  const named =
    stringAt(before, ["volumeName"]) === "" ? withMember(before, ["volumeName"], now["volumeName"]) : before;
  const classed = isClassGiven(claim, old) ? withMember(now, ["storageClassName"], undefined) : now;
  if (!isBound) return [named, classed];
  const sized = memberAt(classed, ["resources", "requests"])
    ? withMember(classed, storage, memberAt(before, storage))
    : classed;
  return [named, withMember(sized, ["volumeAttributesClassName"], before["volumeAttributesClassName"])];
}

const classOfAnnotation = (claim: JsonObject): string | undefined =>
  metaOf(claim).annotations?.["volume.beta.kubernetes.io/storage-class"];

/** Whether a claim without a storage class gets one: that of its old annotation, where it has that. */
function isClassGiven(claim: JsonObject, old: JsonObject): boolean {
  const [now, annotated] = [memberAt(claim, ["spec", "storageClassName"]), classOfAnnotation(old)];
  if (typeof now !== "string" || memberAt(old, ["spec", "storageClassName"]) !== undefined) return false;
  return annotated === undefined || annotated === now;
}

/** The annotation goes only when the field takes its place. */
function annotationChange(claim: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [classOfAnnotation(claim), classOfAnnotation(old)];
  if (before !== undefined && isClassGiven(claim, old) && (now === undefined || now === before)) return [];
  const at = "metadata.annotations.volume.beta.kubernetes.io/storage-class";
  return (now ?? "") === (before ?? "") ? [] : [invalidValue(at, now ?? "", "field is immutable")];
}

/** A claim whose volume has a class of attributes keeps one. */
function claimAttributesChange(claim: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [claim, old].map((one) => memberAt(one, ["spec", "volumeAttributesClassName"]));
  const isApplied = typeof memberAt(old, ["status", "currentVolumeAttributesClassName"]) === "string";
  if (now === before || !isApplied || (typeof now === "string" && now !== "")) return [];
  const what = now === "" ? "empty string" : "nil";
  const why = `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`;
  return [forbiddenValue("spec.volumeAttributesClassName", why)];
}

const resizeStates = [
  ...["ControllerResizeInProgress", "ControllerResizeInfeasible"],
  ...["NodeResizeInProgress", "NodeResizeInfeasible", "NodeResizePending"],
].sort();

/** Of the names without a domain, a claim knows one. */
function claimResourceErrors(name: string, path: string): FieldError[] {
  const problems = labelKeyProblems(name).map((problem) => invalidValue(path, name, problem));
  if (problems.length > 0) return problems;
  return isNative(name) && name !== "storage" ? [unsupportedValue(path, name, ["storage"])] : [];
}

/** What a claim got, and how far the change of its size is. */
function claimStatusErrors(status: JsonObject): FieldError[] {
  const [capacity, states, allocated] = ["capacity", "allocatedResourceStatuses", "allocatedResources"].map((name) => [
    `status.${name}`,
    objectAt(status, [name]),
  ]) as [[string, JsonObject], [string, JsonObject], [string, JsonObject]];
  return [
    ...firstErrorsByName(capacity[1], (name) => basicAmount(String(capacity[1][name]), keyPath(capacity[0], name))),
    ...firstErrorsByName(states[1], (name) => [
      ...claimResourceErrors(name, states[0]),
      ...(resizeStates.includes(String(states[1][name])) ? [] : [unsupportedValue(states[0], name, resizeStates)]),
    ]),
    ...firstErrorsByName(allocated[1], (name) => {
      const problems = claimResourceErrors(name, allocated[0]);
      const [amount, at] = [String(allocated[1][name]), keyPath(allocated[0], name)];
      const basic = problems.length > 0 ? problems : basicAmount(amount, at);
      return basic.length > 0 ? basic : amountErrors("storage", amount, at);
    }),
  ];
}

function claimChange(claim: JsonObject, old: JsonObject, endpoint: Endpoint): FieldError[] {
  if (endpoint === "status") return claimStatusErrors(objectAt(claim, ["status"]));
  const storage = ["spec", "resources", "requests", "storage"];
  const [now, before] = [claim, old].map((one) => stringAt(one, storage) || "0") as [string, string];
  const isLess = compareQuantities(now, before) < 0;
  const capacity = stringAt(old, ["status", "capacity", "storage"]) || "0";
  const difference = goDifference("PersistentVolumeClaimSpec", ...comparedSpecs(claim, old));
  const why =
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
  return [
    ...annotationChange(claim, old),
    ...(difference === "" ? [] : [forbiddenValue("spec", `${why}\n${difference}`)]),
    ...(isLess && compareQuantities(now, capacity) <= 0 ? [forbiddenValue(storage.join("."), claimText)] : []),
    ...immutable(["spec", "volumeMode"], "volumeMode")(claim, old, endpoint),
    ...claimAttributesChange(claim, old),
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
  // The field for sources in other namespaces is of a feature that is off by default.
  const isForeign = isJsonObject(reference) && stringAt(reference, ["namespace"]) !== "";
  const ref = isForeign ? undefined : reference;
  const isKnown = isJsonObject(given) && sourceGroups[stringAt(given, ["kind"])] === stringAt(given, ["apiGroup"]);
  // A client that names the newer field does not expect that the older one is dropped.
  const source = isKnown || isJsonObject(ref) ? given : undefined;
  const copy = (one: JsonValue | undefined): JsonValue | undefined => {
    if (!isJsonObject(one)) return undefined;
    const { namespace: _namespace, ...rest } = one;
    return rest;
  };
  const first = withMember(claim, ["spec", "dataSource"], source ?? copy(ref));
  return withMember(first, ["spec", "dataSourceRef"], ref ?? copy(source));
}

/** Storage is counted in whole bytes. */
function claimWarnings(claim: JsonObject): string[] {
  const [old] = Object.entries(oldAnnotations) as [[string, string]];
  const resources = objectAt(claim, ["spec", "resources"]);
  const fractions = ["requests", "limits"].flatMap((member) => [
    ...fractionOfBytes(resources, { member, name: "storage", path: "spec.resources" }),
  ]);
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
