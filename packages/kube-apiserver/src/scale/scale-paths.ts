// SPDX-License-Identifier: Apache-2.0

import { unclassifiedError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, numberAt, objectAt, objectsAt, stringAt } from "@purlin/kube-objects/object";
import { formatLabelSelector, type LabelSelectorObject, labelSelectorOf } from "@purlin/kube-objects/selector";
import { namesOf, readAt, type ScaleFields } from "../custom/scale-problems.ts";
import { apiVersionOf, hasSubresource, type ResourceType } from "../registry/resource-type.ts";

/** What the Scale of an object shows. */
export interface ScaleState {
  /** How many there should be; undefined where the object does not say. */
  readonly wanted: number | undefined;
  readonly current: number;
  /** The selector of what is scaled, as text; empty: none. */
  readonly selector: string;
}

/** Where objects of a type keep what their Scale shows. */
export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly read: (object: JsonObject) => ScaleState;
  /** Where each version of the kind keeps its replicas; null for a version without a Scale. */
  readonly byVersion: ReadonlyMap<string, readonly string[] | null>;
}

const REPLICAS = ["spec", "replicas"];

/** The paths of built-in workloads. */
export function builtinScalePaths(type: ResourceType): ScalePaths {
  return {
    replicas: REPLICAS,
    read: (object) => ({
      wanted: numberAt(object, REPLICAS),
      current: numberAt(object, ["status", "replicas"]),
      selector: formatLabelSelector(labelSelectorOf(objectAt(object, ["spec", "selector"]) as LabelSelectorObject)),
    }),
    byVersion: new Map([[apiVersionOf(type), REPLICAS]]),
  };
}

/** The paths a CustomResourceDefinition declares for one of its versions. */
export function customScalePaths(crd: JsonObject, version: string): ScalePaths | undefined {
  const group = stringAt(crd, ["spec", "group"]);
  const declared = new Map(
    objectsAt(crd, ["spec", "versions"]).map((one) => [stringAt(one, ["name"]), scaleFields(one)] as const),
  );
  const own = declared.get(version);
  if (own === undefined) {
    return undefined;
  }
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

/** What a version of a definition says about its Scale; undefined: it has none. */
export function scaleFields(version: JsonObject): ScaleFields | undefined {
  const scale = memberAt(version, ["subresources", "scale"]);
  if (!isJsonObject(scale)) {
    return undefined;
  }
  return {
    specReplicas: stringAt(scale, ["specReplicasPath"]),
    statusReplicas: stringAt(scale, ["statusReplicasPath"]),
    selector: stringAt(scale, ["labelSelectorPath"]) || undefined,
  };
}

function countAt(object: JsonObject, path: string): number | undefined {
  const value = foundAt(object, path, "int64");
  return value === undefined ? undefined : Number(value);
}

function foundAt(object: JsonObject, path: string, type: "int64" | "string"): unknown {
  const { value, problem } = readAt(object, path, type);
  if (problem !== undefined) {
    throw unclassifiedError(problem);
  }
  return value;
}

/** Whether objects of a type have a Scale. */
export function hasScale(type: ResourceType): boolean {
  return hasSubresource(type, "scale");
}
