// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { controllerOf, type KubeObject, objectAt, objectsAt, parseApiVersion } from "@purlin/kube-objects/object";

/** What to compare beyond what users write. */
export interface ProjectionOptions {
  readonly status: boolean;
  readonly owners: boolean;
}

const serverMetadata = new Set([
  "resourceVersion",
  "uid",
  "generation",
  "creationTimestamp",
  "managedFields",
  "selfLink",
  "ownerReferences",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
]);

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

/** The part of an object that a plan is about: without what the server writes, and what every reconcile keeps up to date. */
export function projected(object: KubeObject, { status, owners }: ProjectionOptions): JsonObject {
  const { metadata, spec, status: reported, apiVersion, kind, ...rest } = object as JsonObject;
  return {
    apiVersion: apiVersion ?? "",
    kind: kind ?? "",
    metadata: projectedMetadata(object, metadata, owners),
    ...rest,
    ...(spec !== undefined && { spec: projectedSpec(spec) }),
    ...(status && reported !== undefined && { status: reported }),
  };
}

function projectedMetadata(object: KubeObject, metadata: JsonValue | undefined, owners: boolean): JsonObject {
  const kept = Object.entries(isJsonObject(metadata) ? metadata : {}).filter(([name]) => !serverMetadata.has(name));
  const shown = Object.fromEntries(
    kept.map(([name, value]) => [name, name === "annotations" ? withoutLastApplied(value) : (value ?? null)]),
  );
  const { ownerReferences } = object.metadata;
  if (owners && ownerReferences)
    return { ...shown, ownerReferences: ownerReferences.map(({ uid: _uid, ...owner }) => owner) as JsonValue };
  const controller = controllerOf(object);
  return controller === undefined
    ? shown
    : { ...shown, controller: `${controller.kind}.${parseApiVersion(controller.apiVersion).group}/${controller.name}` };
}

function withoutLastApplied(annotations: JsonValue | undefined): JsonValue {
  if (!isJsonObject(annotations)) return annotations ?? null;
  const { [lastApplied]: _applied, ...rest } = annotations;
  return rest;
}

function projectedSpec(spec: JsonValue): JsonValue {
  if (!isJsonObject(spec)) return spec;
  const { resourceRefs: _refs, crossplane, ...rest } = spec;
  if (!isJsonObject(crossplane)) return { ...rest, ...(crossplane !== undefined && { crossplane }) };
  const { resourceRefs: _modern, ...others } = crossplane;
  return Object.keys(others).length === 0 ? rest : { ...rest, crossplane: others };
}

/** The schema of a kind in a version, from its CustomResourceDefinition. */
export function schemaIn(crd: KubeObject | undefined, apiVersion: string): JsonObject | undefined {
  if (crd === undefined) return undefined;
  const { version } = parseApiVersion(apiVersion);
  const found = objectsAt(crd, ["spec", "versions"]).find((one) => one["name"] === version);
  return found === undefined ? undefined : objectAt(found, ["schema", "openAPIV3Schema"]);
}
