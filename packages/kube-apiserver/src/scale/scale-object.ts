// SPDX-License-Identifier: Apache-2.0
import { managersOfParent, managersOfScale } from "@purlin/kube-objects/apply";
import { unclassifiedError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

import { type ManagedFieldsEntry, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { namesOf, readAt, scaleFields } from "../custom/scale-problems.ts";
import { metaOf, withMeta } from "../objects/object-meta.ts";
import type { ScalePaths } from "../strategy/kind-rules.ts";

export const scaleVersion = "autoscaling/v1";

/** The Scale of an object: how many there should be and are, under the object's own identity. */
export function toScale(object: JsonObject, paths: ScalePaths): JsonObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = metaOf(object);
  const { wanted = 0, current, selector } = paths.read(object);
  return {
    kind: "Scale",
    apiVersion: scaleVersion,
    metadata: withoutUndefined({ name, namespace, uid, resourceVersion, creationTimestamp }),
    spec: wanted === 0 ? {} : { replicas: wanted },
    status: { replicas: current, ...(selector === "" ? {} : { selector }) },
  };
}

/** The count of a Scale whose object has none: a change of the Scale must set it. */
export const noReplicas: number = -(2 ** 31);

/** The Scale with who owns it, as writers see it. */
export function toManagedScale(object: JsonObject, paths: ScalePaths): JsonObject {
  const managedFields = managersOfScale(metaOf(object).managedFields ?? [], paths.byVersion);
  const scale = toScale(object, paths);
  const counted = paths.read(object).wanted === undefined ? { ...scale, spec: { replicas: noReplicas } } : scale;
  return withMeta(counted, { managedFields: managedFields.length === 0 ? undefined : managedFields });
}

/** The replicas a Scale asks for. */
export function replicasOf(scale: JsonObject): number {
  return numberAt(scale, ["spec", "replicas"]);
}

/** The object after its Scale has become this one, asked for at the version of the object. */
export function withScale(object: JsonObject, scale: JsonObject, paths: ScalePaths): JsonObject {
  const parent = metaOf(object).managedFields ?? [];
  const managedFields = managersOfParent({
    parent,
    scale: (metaOf(scale).managedFields ?? []) as readonly ManagedFieldsEntry[],
    apiVersion: String(object["apiVersion"]),
    paths: paths.byVersion,
  });
  const { resourceVersion, uid } = metaOf(scale);
  const scaled = withValue(object, paths.replicas, replicasOf(scale));
  return withMeta(scaled, {
    managedFields: managedFields.length === 0 ? undefined : managedFields,
    resourceVersion: resourceVersion ?? "",
    uid: uid ?? metaOf(object).uid,
  });
}

function withValue(object: JsonObject, [name = "", ...rest]: readonly string[], value: JsonValue): JsonObject {
  if (rest.length === 0) return { ...object, [name]: value };
  const inner = object[name];
  return { ...object, [name]: withValue(isJsonObject(inner) ? inner : {}, rest, value) };
}

function withoutUndefined(values: Record<string, JsonValue | undefined>): JsonObject {
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined),
  );
}

/** The paths a CustomResourceDefinition declares for one of its versions. */
export function customScalePaths(crd: JsonObject, version: string): ScalePaths | undefined {
  const group = stringAt(crd, ["spec", "group"]);
  const declared = new Map(
    objectsAt(crd, ["spec", "versions"]).map((one) => [stringAt(one, ["name"]), scaleFields(one)] as const),
  );
  const own = declared.get(version);
  if (own === undefined) return undefined;
  return {
    replicas: namesOf(own.specReplicas),
    read: (object) => ({
      wanted: countAt(object, own.specReplicas),
      current: countAt(object, own.statusReplicas) ?? 0,
      selector: own.selector === undefined ? "" : String(foundAt(object, own.selector, "string") ?? ""),
    }),
    byVersion: new Map(
      [...declared].map(
        ([name, fields]) => [`${group}/${name}`, fields ? namesOf(fields.specReplicas) : null] as const,
      ),
    ),
  };
}

function countAt(object: JsonObject, path: string): number | undefined {
  const value = foundAt(object, path, "int64");
  return value === undefined ? undefined : Number(value);
}

function foundAt(object: JsonObject, path: string, type: "int64" | "string"): unknown {
  const { value, problem } = readAt(object, path, type);
  if (problem !== undefined) throw unclassifiedError(problem);
  return value;
}
