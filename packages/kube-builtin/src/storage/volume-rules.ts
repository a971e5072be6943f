// SPDX-License-Identifier: Apache-2.0
import {
  all,
  type Check,
  type Endpoint,
  type KindRules,
  maybeNamed,
  needed,
  within,
} from "@purlin/kube-apiserver/kinds";
import { timestamp } from "@purlin/kube-objects/apply";
import { type FieldError, forbiddenValue, invalidValue, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { dns1123LabelProblems, dns1123SubdomainProblems } from "@purlin/kube-objects/metadata";
import { memberAt, objectAt, stringAt, textsAt, withMember } from "@purlin/kube-objects/object";
import { compareQuantities } from "@purlin/kube-objects/typed";
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

/** The rules of PersistentVolumes. The status records when the phase changed. */
export function volumeRules(now: () => Date): KindRules {
  return {
    validate: inMember("spec", volumeSpec),
    validateChange: volumeChange,
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
  maybeNamed("volumeAttributesClassName", dns1123SubdomainProblems),
);

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
  const source = isKnown ? given : undefined;
  const copy = (one: JsonValue | undefined): JsonValue | undefined => {
    if (!isJsonObject(one)) return undefined;
    const { namespace: _namespace, ...rest } = one;
    return rest;
  };
  const first = withMember(claim, ["spec", "dataSource"], source ?? copy(ref));
  return withMember(first, ["spec", "dataSourceRef"], ref ?? copy(source));
}

/** The rules of PersistentVolumeClaims. */
export const claimRules: KindRules = {
  prepareCreate: (claim) => ({ ...withDataSource(claim), status: { phase: "Pending" } }),
  prepareUpdate: (claim, old, endpoint) => {
    const had = ["dataSource", "dataSourceRef"].some((name) => memberAt(old, ["spec", name]) !== undefined);
    return endpoint === "status" || had ? claim : withDataSource(claim);
  },
  validate: inMember("spec", claimSpec),
  validateChange: claimChange,
};
