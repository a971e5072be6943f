// SPDX-License-Identifier: Apache-2.0
import { managersOfParent, managersOfScale } from "@purlin/kube-objects/apply";
import { type FieldError, invalidValue, unclassifiedError } from "@purlin/kube-objects/errors";
import {
  goPlain,
  goTypeName,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
} from "@purlin/kube-objects/json";
import { type ManagedFieldsEntry, memberAt, numberAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { metaOf, withMeta } from "../objects/object-members.ts";
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

/** Where objects of a version keep what their Scale shows, as its definition writes it: `.spec.replicas`. */
export interface ScaleFields {
  readonly specReplicas: string;
  readonly statusReplicas: string;
  readonly selector: string | undefined;
}

/** What a version of a definition says about its Scale; undefined: it has none. */
export function scaleFields(version: JsonObject): ScaleFields | undefined {
  const scale = memberAt(version, ["subresources", "scale"]);
  if (!isJsonObject(scale)) return undefined;
  return {
    specReplicas: stringAt(scale, ["specReplicasPath"]),
    statusReplicas: stringAt(scale, ["statusReplicasPath"]),
    selector: stringAt(scale, ["labelSelectorPath"]) || undefined,
  };
}

/** The largest count a Scale can show. */
const maxReplicas = 2 ** 31 - 1;

/** What in an object's spec keeps its Scale from being shown, besides what its schema says about it. */
export function scaleSpecProblems(object: JsonObject, { specReplicas }: ScaleFields): FieldError[] {
  return replicasProblems(object, specReplicas);
}

/** The same of its status. */
export function scaleStatusProblems(object: JsonObject, { statusReplicas, selector }: ScaleFields): FieldError[] {
  const found = selector === undefined ? undefined : readAt(object, selector, "string");
  const problem = found?.problem;
  return [
    ...replicasProblems(object, statusReplicas),
    ...(problem === undefined ? [] : [invalidValue(selector, "", problem)]),
  ];
}

function replicasProblems(object: JsonObject, path: string): FieldError[] {
  const { value = 0, problem } = readAt(object, path, "int64");
  if (problem !== undefined) return [invalidValue(path, 0, problem)];
  const count = value as number | bigint;
  if (count < 0) return [invalidValue(path, count, "should be a non-negative integer")];
  return count > maxReplicas ? [invalidValue(path, count, `should be less than or equal to ${maxReplicas}`)] : [];
}

/** What an object holds at a path: a value of the type, nothing, or a problem in the words of Go. */
interface FoundValue {
  readonly value?: JsonValue;
  readonly problem?: string;
}

/** Looks for a value of a Go type at a path such as `.spec.replicas`. */
function readAt(object: JsonObject, path: string, type: "int64" | "string"): FoundValue {
  const names = namesOf(path);
  let value: JsonValue = object;
  for (const [index, name] of names.entries()) {
    if (value === null) return {};
    if (!isJsonObject(value)) return { problem: mistyped(names.slice(0, index + 1), value, "map[string]interface{}") };
    const member: JsonValue | undefined = ownValue(value, name);
    if (member === undefined) return {};
    value = member;
  }
  return goTypeName(value) === type ? { value } : { problem: mistyped(names, value, type) };
}

/** The names a path is made of. */
function namesOf(path: string): string[] {
  return path.replace(/^\./, "").split(".");
}

function mistyped(names: readonly string[], value: JsonValue, wanted: string): string {
  return `.${names.join(".")} accessor error: ${goPlain(value)} is of the type ${goTypeName(value)}, expected ${wanted}`;
}
