// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import {
  annotationOf,
  gvkOf,
  type KubeObject,
  labelOf,
  memberAt,
  objectAt,
  stringAt,
  textMapAt,
} from "@purlin/kube-objects/object";
import { annotations, kinds, labels } from "../names.ts";
import { newOperation } from "../owned-operations.ts";

/** The prefix of the annotations that name the object that triggered an Operation, and the name of its requirement. */
const watched = "ops.crossplane.io/watched-resource";

/** The number of characters of a hash in the name of an Operation. */
const hashLength = 7;

/** The resourceVersion of an object that is gone. */
const syntheticVersion = "ops.crossplane.io/synthetic-deleted";

/** Whether an object is one that a WatchOperation watches. */
export function isWatched(watch: KubeObject, object: KubeObject): boolean {
  const namespace = stringAt(watch, ["spec", "watch", "namespace"]);
  // A cluster-scoped object has no namespace: the field does not apply to it.
  const isInNamespace = namespace === "" || !object.metadata.namespace || object.metadata.namespace === namespace;
  const wanted = Object.entries(textMapAt(watch, ["spec", "watch", "matchLabels"]) ?? {});
  return (
    isInNamespace && wanted.every(([key, value]) => object.metadata.labels?.[key] === value) && !isOwn(watch, object)
  );
}

/**
 * Whether an object exists because of Operations that a WatchOperation created: they are new objects each time, so that no limit for one
 * object would ever end it. An Operation about another Operation never counts: two WatchOperations would trigger each other.
 */
function isOwn(watch: KubeObject, object: KubeObject): boolean {
  const { name = "" } = watch.metadata;
  if (isOfOperations(object.apiVersion)) {
    const isOfWatch = object.kind === kinds.watch.kind && object.metadata.name === name;
    const isOfOperation = annotationOf(object, `${watched}-kind`) === kinds.operation.kind;
    const isOperation = object.kind === kinds.operation.kind;
    return isOfWatch || (isOperation && (labelOf(object, labels.watch) === name || isOfOperation));
  }
  if (object.kind !== "Event") return false;
  const about = { ...objectAt(object, ["regarding"]), ...objectAt(object, ["involvedObject"]) };
  const subject = stringAt(about, ["name"]);
  const isOfName =
    subject === name || (subject.startsWith(`${name}-`) && subject.length === name.length + 1 + hashLength);
  return isOfOperations(stringAt(about, ["apiVersion"])) && isOfName;
}

const isOfOperations = (apiVersion: string): boolean => apiVersion.startsWith("ops.crossplane.io/");

/** Whether an update changes a field that the WatchOperation names; every update does unless it names any. */
export function isRelevant(watch: KubeObject, before: KubeObject, after: KubeObject): boolean {
  if (before.metadata.resourceVersion === after.metadata.resourceVersion) return false;
  const paths = (annotationOf(watch, annotations.watchFields) ?? "").split(",").map((one) => one.trim());
  const named = paths.filter((path) => path !== "");
  if (named.length === 0) return true;
  return named.some((path) => {
    const [a, b] = [before, after].map((object) => memberAt(object, path.split(".")));
    return a === undefined || b === undefined ? a !== b : !jsonEqual(a, b);
  });
}

/** What stands for an object that is gone: its name, and that it was deleted. */
export function syntheticObject(
  { apiVersion, kind, metadata: { name, namespace } }: KubeObject,
  now: number,
): KubeObject {
  const deletionTimestamp = `${new Date(now).toISOString().slice(0, 19)}Z`;
  const metadata = { name, ...(namespace && { namespace }), deletionTimestamp, resourceVersion: syntheticVersion };
  return { apiVersion, kind, metadata } as KubeObject;
}

/** The name of the Operation for one version of an object. */
export function operationName(watch: string, object: KubeObject): string {
  const { group, version, kind } = gvkOf(object);
  const { namespace = "", name = "", uid = "", resourceVersion = "", deletionTimestamp } = object.metadata;
  const type = `${group}/${version}, Kind=${kind}`;
  const parts = [type, namespace, name, uid, resourceVersion, ...(deletionTimestamp ? [deletionTimestamp] : [])];
  return `${watch}-${createHash("sha256").update(parts.join("/")).digest("hex").slice(0, hashLength)}`;
}

/** The Operation for one version of an object: each step gets the object as a required resource. */
export function watchedOperation(watch: KubeObject, object: KubeObject): KubeObject {
  const { apiVersion, kind, metadata } = object;
  const { name = "", namespace, resourceVersion = "" } = metadata;
  return newOperation(watch, {
    name: operationName(watch.metadata.name ?? "", object),
    label: labels.watch,
    annotations: {
      [`${watched}-apiversion`]: apiVersion,
      [`${watched}-kind`]: kind,
      [`${watched}-name`]: name,
      ...(namespace && { [`${watched}-namespace`]: namespace }),
      [`${watched}-resourceversion`]: resourceVersion,
    },
    spec: (spec) => withWatched(spec, object),
  });
}

/** The spec of an Operation whose steps all get an object as a required resource. */
export function withWatched(spec: JsonObject, { apiVersion, kind, metadata }: KubeObject): JsonObject {
  const { name = "", namespace } = metadata;
  const requirement = { requirementName: watched, apiVersion, kind, name, ...(namespace && { namespace }) };
  const pipeline = Array.isArray(spec["pipeline"]) ? spec["pipeline"].filter(isJsonObject) : [];
  return {
    ...spec,
    pipeline: pipeline.map((step) => {
      const requirements = isJsonObject(step["requirements"]) ? step["requirements"] : {};
      const known = Array.isArray(requirements["requiredResources"]) ? requirements["requiredResources"] : [];
      return { ...step, requirements: { ...requirements, requiredResources: [...known, requirement] } };
    }),
  };
}
