// SPDX-License-Identifier: Apache-2.0

import {
  all,
  type Endpoint,
  hasUnreadableSelector,
  type KindRules,
  listAt,
  maybeNamed,
  metaOf,
  notNegative,
  type ScalePaths,
  selectorErrors,
  selectorInGo,
  within,
  withMeta,
} from "@purlin/kube-apiserver/kinds";

import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidPrinted,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { dns1123LabelProblems } from "@purlin/kube-objects/metadata";
import { memberAt, numberAt, objectAt, stringAt, withMember } from "@purlin/kube-objects/object";
import { formatLabelSelector, type LabelSelectorObject, labelSelectorOf } from "@purlin/kube-objects/selector";
import { TypedFormError } from "@purlin/kube-objects/typed";
import { fractionOfBytes } from "../checks/resource-names.ts";
import { changes, notAbove, notNegativeAt, onStatus } from "../checks/rule-checks.ts";
import { nameWarnings, podWarnings } from "../pods/pod-warnings.ts";
import { claimSpec } from "../storage/volume-rules.ts";
import { daemonStrategyErrors, deploymentStrategyErrors, statefulStrategyErrors } from "./rolling-update.ts";
import { foreverErrors, lastingTemplateErrors, replicaStatus, selectorText } from "./template.ts";

/** Numbers of the spec that are not below zero. */
function numbers(object: JsonObject, ...names: readonly string[]): FieldError[] {
  return names.flatMap((name) => notNegative(name)(objectAt(object, ["spec"]), "spec"));
}

/** The selector stays. */
function sameSelector(object: JsonObject, old: JsonObject): FieldError[] {
  const [now, before] = [object, old].map((one) => memberAt(one, ["spec", "selector"]) ?? null) as [
    JsonValue,
    JsonValue,
  ];
  if (jsonEqual(now, before)) return [];
  return [invalidPrinted("spec.selector", isJsonObject(now) ? selectorInGo(now) : "null", "field is immutable")];
}

/** A write to the status does not change labels. */
function keepsLabels(object: JsonObject, old: JsonObject, endpoint: Endpoint): JsonObject {
  return endpoint === "status" ? withMeta(object, { labels: metaOf(old).labels }) : object;
}

function deadlineErrors(object: JsonObject): FieldError[] {
  const deadline = memberAt(object, ["spec", "progressDeadlineSeconds"]);
  const ready = memberAt(object, ["spec", "minReadySeconds"]);
  const isFine = typeof deadline !== "number" || deadline > (typeof ready === "number" ? ready : 0);
  return isFine ? [] : [invalidValue("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")];
}

const required = { isRequired: true, unreadable: "invalid label selector" };

/** Warnings when the template may have changed. */
function templateWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const isChanged = old === undefined || metaOf(object).generation !== metaOf(old).generation;
  return isChanged ? podWarnings(objectAt(object, ["spec", "template"]), "spec.template") : [];
}

/** Warnings about new objects include those about their names. */
function namedTemplateWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const name = old === undefined ? nameWarnings(object, "Pod names and hostnames") : [];
  return [...name, ...templateWarnings(object, old)];
}

/** Every change of a template is a new generation of it, and no other change is. */
function daemonWarnings(object: JsonObject, old: JsonObject | undefined): string[] {
  const [now, before] = [object, old ?? {}].map((one) => objectAt(one, ["spec", "template"])) as [
    JsonObject,
    JsonObject,
  ];
  return old !== undefined && jsonEqual(now, before) ? [] : podWarnings(now, "spec.template");
}

/** What a StatefulSet keeps of the past, and what it asks for each of its Pods. */
function statefulWarnings(object: JsonObject, old: JsonObject | undefined, endpoint: Endpoint): string[] {
  if (endpoint === "status") return [];
  const claims = listAt(object, "spec", "volumeClaimTemplates");
  // A new set has another path in these warnings than a changed one, and neither is that of the field.
  const place = old === undefined ? "resources" : "Spec.resources";
  const limit = memberAt(object, ["spec", "revisionHistoryLimit"]);
  const advice = "a negative value retains all historical revisions; a value >= 0 is recommended";
  return [
    ...templateWarnings(object, old),
    ...claims.flatMap((claim, index) => claimWarnings(claim, `spec.volumeClaimTemplates[${index}].${place}`)),
    ...(typeof limit === "number" && limit < 0 ? [`spec.revisionHistoryLimit: ${advice}`] : []),
  ];
}

function claimWarnings(claim: JsonObject, path: string): string[] {
  const resources = objectAt(claim, ["spec", "resources"]);
  return ["requests", "limits"].flatMap((member) => [...fractionOfBytes(resources, { member, name: "storage", path })]);
}

const most = "cannot be greater than status.replicas";

const deploymentStatus = all(
  notNegativeAt(
    ...["observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"],
    ...["unavailableReplicas", "terminatingReplicas", "collisionCount"],
  ),
  notAbove(["updatedReplicas", "readyReplicas", "availableReplicas"], "replicas", most),
  notAbove(["availableReplicas"], "readyReplicas", "cannot be greater than readyReplicas"),
);

const daemonStatus = notNegativeAt(
  ...["currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady", "observedGeneration"],
  ...["updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount"],
);

const statefulStatus = all(
  notNegativeAt(
    ...["replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"],
    ...["observedGeneration", "collisionCount"],
  ),
  notAbove(["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"], "replicas", most),
  notAbove(["availableReplicas"], "readyReplicas", "cannot be greater than status.readyReplicas"),
);

/** The rules of ControllerRevisions: their data is an object that never changes. */
export const revisionRules: KindRules = {
  validate: (object) => notNegativeAt("revision")(object, "").map((error) => ({ ...error, field: "revision" })),
  validateNew: ({ data }) => {
    if (data === undefined || data === null) return [requiredValue("data", "data is mandatory")];
    return isJsonObject(data) ? [] : [requiredValue("data", "data must be a valid JSON object")];
  },
  validateChange: ({ data }, old) =>
    jsonEqual(data ?? null, old["data"] ?? null) ? [] : [invalidValue("data", data ?? null, "field is immutable")],
};

export const deploymentRules: KindRules = {
  warnings: namedTemplateWarnings,
  *validatingRest(object) {
    return [
      ...numbers(object, "replicas"),
      ...(yield* selectorErrors(object, { ...required, noun: "deployment" })),
      ...(hasUnreadableSelector(object) ? [] : yield* lastingTemplateErrors(object, "ReplicaSet")),
      ...deploymentStrategyErrors(object),
      ...numbers(object, "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"),
      ...deadlineErrors(object),
    ];
  },
  validateChange: changes(sameSelector, onStatus(deploymentStatus)),
  prepareUpdate: keepsLabels,
};

export const replicaSetRules: KindRules = {
  warnings: namedTemplateWarnings,
  *validatingRest(object) {
    return [
      ...numbers(object, "replicas", "minReadySeconds"),
      ...(yield* selectorErrors(object, { ...required, noun: "deployment" })),
      ...(hasUnreadableSelector(object) ? [] : yield* lastingTemplateErrors(object, "ReplicaSet")),
    ];
  },
  validateChange: changes(sameSelector, onStatus(replicaStatus)),
};

/** What a DaemonSet must be; what else is particular about it is beside. */
const daemonSetChecks: KindRules = {
  warnings: daemonWarnings,
  *validatingRest(object) {
    return [
      ...(yield* selectorErrors(object, { ...required, isRequired: false, noun: "daemonset" })),
      ...(yield* lastingTemplateErrors(object, "DaemonSet")),
      ...numbers(object, "minReadySeconds"),
      ...daemonStrategyErrors(object),
      ...numbers(object, "revisionHistoryLimit"),
    ];
  },
  validateChange: changes(sameSelector, onStatus(daemonStatus)),
};

const claimPolicies = ["Retain", "Delete"];

function statefulErrors(object: JsonObject): FieldError[] {
  const policy = stringAt(object, ["spec", "podManagementPolicy"]);
  const claims = "spec.persistentVolumeClaimRetentionPolicy";
  const retention = objectAt(object, ["spec", "persistentVolumeClaimRetentionPolicy"]);
  return [
    ...(["OrderedReady", "Parallel"].includes(policy)
      ? []
      : [invalidValue("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")]),
    ...statefulStrategyErrors(object),
    ...["whenDeleted", "whenScaled"]
      .filter((name) => !claimPolicies.includes(stringAt(retention, [name])))
      .map((name) => unsupportedValue(`${claims}.${name}`, stringAt(retention, [name]), claimPolicies)),
    ...numbers(object, "replicas", "minReadySeconds"),
    ...within("ordinals", notNegativeAt("start"))(objectAt(object, ["spec"]), "spec"),
  ];
}

/** The controller overwrites these. */
function withoutNames(object: JsonObject): JsonObject {
  const [hostname, subdomain] = ["hostname", "subdomain"].map((name) => ["spec", "template", "spec", name]);
  return withMember(withMember(object, hostname ?? [], undefined), subdomain ?? [], undefined);
}

/** Every replica gets these volumes of its own, so its containers may mount them. */
function withClaims(whole: JsonObject): JsonObject {
  const object = withoutNames(whole);
  const claims = memberAt(object, ["spec", "volumeClaimTemplates"]);
  if (!Array.isArray(claims) || claims.length === 0) return object;
  const template = objectAt(object, ["spec", "template"]);
  const own = memberAt(template, ["spec", "volumes"]);
  const names = new Set(claims.map((claim) => stringAt(claim as JsonObject, ["metadata", "name"])));
  const made = [...names].map((name) => ({ name, persistentVolumeClaim: { claimName: name } }));
  const kept = (Array.isArray(own) ? own : []).filter((one) => !names.has(stringAt(one as JsonObject, ["name"])));
  const spec = { ...objectAt(template, ["spec"]), volumes: [...made, ...kept] };
  return { ...object, spec: { ...objectAt(object, ["spec"]), template: { ...template, spec } } };
}

const mutable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];
const mutableText =
  "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";

function fixedSpec(object: JsonObject): JsonObject {
  const entries = Object.entries(objectAt(object, ["spec"])).filter(([name]) => !mutable.includes(name));
  return Object.fromEntries(entries);
}

export const statefulSetRules: KindRules = {
  droppedFields: [["spec", "updateStrategy", "rollingUpdate", "maxUnavailable"]],
  warnings: statefulWarnings,
  *validatingRest(object) {
    return [
      ...statefulErrors(object),
      ...(yield* selectorErrors(object, { ...required, unreadable: "", noun: "statefulset" })),
      ...(hasUnreadableSelector(object)
        ? foreverErrors(object, "StatefulSet")
        : yield* lastingTemplateErrors(withClaims(object), "StatefulSet")),
    ];
  },
  validateNew: (object) => [
    ...firstErrors(listAt(object, "spec", "volumeClaimTemplates"), (claim, index) =>
      claimSpec(objectAt(claim, ["spec"]), `spec.volumeClaimTemplates[${index}].spec`),
    ),
    ...maybeNamed("serviceName", dns1123LabelProblems)(objectAt(object, ["spec"]), "spec"),
  ],
  validateChange: changes(
    (object, old) => (jsonEqual(fixedSpec(object), fixedSpec(old)) ? [] : [forbiddenValue("spec", mutableText)]),
    onStatus(statefulStatus),
  ),
};

const replicas = ["spec", "replicas"];

/** The Scale of the workloads of apps/v1. */
export const workloadScale: ScalePaths = {
  replicas,
  read: (object) => ({
    wanted: numberAt(object, replicas),
    current: numberAt(object, ["status", "replicas"]),
    selector: selectorText(objectAt(object, ["spec", "selector"]), (selector) =>
      formatLabelSelector(labelSelectorOf(selector as LabelSelectorObject)),
    ),
  }),
  byVersion: new Map([["apps/v1", replicas]]),
};

/** How often the template has changed: a field of the reference's own that v1 shows as an annotation. */
export const templateGeneration = "deprecated.daemonset.template.generation";

/** Every write carries it, so every writer comes to own it; what it says is up to the server. */
export const daemonSetRules: KindRules = {
  ...daemonSetChecks,
  emptyMembers: { annotations: { [templateGeneration]: "0" } },
  decode: (object) => withGeneration(object, sentGeneration(object)),
  prepareCreate: (object) => withGeneration(object, Math.max(1, sentGeneration(object))),
  prepareUpdate: (object, old) => withGeneration(object, sentGeneration(old) + (sameTemplate(object, old) ? 0 : 1)),
};

function sentGeneration(object: JsonObject): number {
  const text = metaOf(object).annotations?.[templateGeneration] ?? "0";
  if (!/^[-+]?\d+$/.test(text)) throw new TypedFormError(`strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`);
  return Number(text);
}

function withGeneration(object: JsonObject, generation: number): JsonObject {
  const annotations = { ...metaOf(object).annotations, [templateGeneration]: String(generation) };
  return withMeta(object, { annotations });
}

function sameTemplate(object: JsonObject, old: JsonObject): boolean {
  return jsonEqual(objectAt(object, ["spec", "template"]), objectAt(old, ["spec", "template"]));
}
