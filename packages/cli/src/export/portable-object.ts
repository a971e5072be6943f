// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

/** Members of metadata that the API server sets, or that refer to objects of one server by their UID. */
const serverMetadata: ReadonlySet<string> = new Set([
  ...["uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"],
  ...["deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences"],
]);

const provisionerAnnotation = "volume.kubernetes.io/storage-provisioner";
const serverAnnotations =
  /^(kubectl\.kubernetes\.io\/last-applied-configuration$|(deployment|pv)\.kubernetes\.io\/|volume\.kubernetes\.io\/storage-provisioner$|purlin\.dev\/simulated$)/;
/** Set again by the control plane. */
const controllerLabels: ReadonlySet<string> = new Set([
  "crossplane.io/composite",
  "crossplane.io/claim-name",
  "crossplane.io/claim-namespace",
]);
const jobLabels = ["controller-uid", "batch.kubernetes.io/controller-uid", "job-name", "batch.kubernetes.io/job-name"];
/** Set again by the controllers that need them. */
const controllerFinalizers = /(^|\.)crossplane\.io$|^(foregroundDeletion|orphan)$|kubernetes\.io\//;

/** Fields of composite resources and claims that say what was composed. */
const composedFields = ["resourceRef", "resourceRefs", "claimRef", "publishConnectionDetailsTo"];

/** The object as a user would have written it: without status and what the API server and controllers set. */
export function portable(object: KubeObject, { isComposite }: { readonly isComposite: boolean }): JsonObject {
  const { apiVersion, kind, metadata, spec, ...rest } = object as KubeObject & { readonly spec?: JsonValue };
  const left = kind === "ServiceAccount" ? ["status", "secrets"] : ["status"];
  return {
    apiVersion,
    kind,
    metadata: portableMetadata(metadata as JsonObject, isNumberedJob(object) ? jobLabels : []),
    ...(spec !== undefined && { spec: isJsonObject(spec) ? portableSpec(object, spec, isComposite) : spec }),
    ...without(rest, left),
  };
}

/** A Job whose labels and selector hold its UID. */
function isNumberedJob({ apiVersion, kind, spec }: KubeObject & { readonly spec?: JsonValue }): boolean {
  return `${apiVersion}/${kind}` === "batch/v1/Job" && isJsonObject(spec) && spec["manualSelector"] !== true;
}

function portableMetadata(metadata: JsonObject, ownLabels: readonly string[]): JsonObject {
  const kept = Object.entries(metadata).filter(([name]) => !serverMetadata.has(name));
  const result: Record<string, JsonValue | undefined> = Object.fromEntries(kept);
  const { annotations, finalizers, labels } = metadata;
  if (isJsonObject(labels)) {
    const own = Object.entries(labels).filter(([name]) => !controllerLabels.has(name) && !ownLabels.includes(name));
    result["labels"] = own.length > 0 ? Object.fromEntries(own) : undefined;
  }
  if (isJsonObject(annotations)) {
    const own = Object.entries(annotations).filter(([name]) => !serverAnnotations.test(name));
    result["annotations"] = own.length > 0 ? Object.fromEntries(own) : undefined;
  }
  if (Array.isArray(finalizers)) {
    const own = finalizers.filter((name) => !controllerFinalizers.test(String(name)));
    result["finalizers"] = own.length > 0 ? own : undefined;
  }
  // A name that was generated is kept: others refer to it.
  result["generateName"] = undefined;
  return withoutUndefined(result);
}

function portableSpec({ apiVersion, kind, metadata }: KubeObject, spec: JsonObject, isComposite: boolean): JsonObject {
  if (isComposite) return compositeSpec(spec);
  switch (`${apiVersion}/${kind}`) {
    case "v1/Service":
      return spec["clusterIP"] === "None" ? spec : serviceSpec(spec, metadata);
    case "v1/PersistentVolumeClaim":
      return without(spec, isSimulated(metadata) ? ["volumeName", "storageClassName"] : ["volumeName"]);
    case "v1/Namespace":
      return without(spec, ["finalizers"]);
    case "v1/Pod":
      return podSpec(spec);
    case "batch/v1/Job":
      return isNumberedJob({ apiVersion, kind, metadata, spec } as KubeObject) ? jobSpec(spec) : spec;
    default:
      return spec;
  }
}

/** Without addresses and ports that the server gave it. A port of nodes that a user chose has a manager. */
function serviceSpec(spec: JsonObject, { managedFields }: KubeObject["metadata"]): JsonObject {
  const rest = without(spec, ["clusterIP", "clusterIPs", "healthCheckNodePort"]);
  const { ports } = rest;
  if (!Array.isArray(ports) || JSON.stringify(managedFields ?? []).includes('"f:nodePort"')) return rest;
  return { ...rest, ports: ports.map((port) => (isJsonObject(port) ? without(port, ["nodePort"]) : port)) };
}

/** A claim of the simulated StorageClass takes the default class of another server. */
function isSimulated({ annotations }: KubeObject["metadata"]): boolean {
  return annotations?.[provisionerAnnotation] === "purlin.dev/simulated";
}

/** Names what to compose with, and nothing that was composed. */
function compositeSpec(spec: JsonObject): JsonObject {
  const crossplane = spec["crossplane"];
  const own = isJsonObject(crossplane) ? crossplaneFields(crossplane) : undefined;
  const kept = crossplaneFields(without(spec, ["crossplane"]));
  return own === undefined || Object.keys(own).length === 0 ? kept : { ...kept, crossplane: own };
}

/** A revision that follows its Composition is chosen again. */
function crossplaneFields(fields: JsonObject): JsonObject {
  const isManual = fields["compositionUpdatePolicy"] === "Manual";
  return without(fields, isManual ? composedFields : [...composedFields, "compositionRevisionRef"]);
}

const tokenVolume = /^kube-api-access-/;

/** Without the node and the token that the API server gave it. */
function podSpec(spec: JsonObject): JsonObject {
  const named = (list: JsonValue | undefined, member: string): JsonValue[] | undefined =>
    Array.isArray(list)
      ? list.filter((one) => !(isJsonObject(one) && tokenVolume.test(String(one[member] ?? ""))))
      : undefined;
  const containers = (list: JsonValue | undefined): JsonValue | undefined =>
    Array.isArray(list)
      ? list.map((one) =>
          isJsonObject(one) ? withoutUndefined({ ...one, volumeMounts: named(one["volumeMounts"], "name") }) : one,
        )
      : undefined;
  return withoutUndefined({
    ...without(spec, ["nodeName"]),
    volumes: named(spec["volumes"], "name"),
    containers: containers(spec["containers"]),
    initContainers: containers(spec["initContainers"]),
  });
}

/** Its selector and the labels of its Pods hold the UID of the Job. */
function jobSpec(spec: JsonObject): JsonObject {
  const { template } = spec;
  const rest = without(spec, ["selector"]);
  if (!isJsonObject(template) || !isJsonObject(template["metadata"])) return rest;
  const { labels } = template["metadata"];
  if (!isJsonObject(labels)) return rest;
  return {
    ...rest,
    template: { ...template, metadata: { ...template["metadata"], labels: without(labels, jobLabels) } },
  };
}

function without(value: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name))) as JsonObject;
}

function withoutUndefined(value: Readonly<Record<string, JsonValue | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as JsonObject;
}
