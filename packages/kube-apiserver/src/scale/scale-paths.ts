// SPDX-License-Identifier: Apache-2.0
import { formatLabelSelector, type JsonObject, type LabelSelectorObject, labelSelectorOf } from "@purlin/kube-objects";
import { objectAt, textAt, valueAt } from "../builtin/read-field.ts";
import { apiVersionOf, hasSubresource, type ResourceType } from "../registry/resource-type.ts";

/** Where objects of a type keep what their Scale shows. */
export interface ScalePaths {
  readonly replicas: readonly string[];
  readonly current: readonly string[];
  /** The selector of what is scaled, as text; empty: none. */
  readonly selector: (object: JsonObject) => string;
  /** Where each version of the kind keeps its replicas; null for a version without a Scale. */
  readonly byVersion: ReadonlyMap<string, readonly string[] | null>;
}

const REPLICAS = ["spec", "replicas"];

/** The paths of built-in workloads. */
export function builtinScalePaths(type: ResourceType): ScalePaths {
  return {
    replicas: REPLICAS,
    current: ["status", "replicas"],
    selector: (object) =>
      formatLabelSelector(labelSelectorOf(objectAt(object, "spec", "selector") as LabelSelectorObject)),
    byVersion: new Map([[apiVersionOf(type), REPLICAS]]),
  };
}

/** The paths a CustomResourceDefinition declares for one of its versions. */
export function customScalePaths(crd: JsonObject, version: string): ScalePaths | undefined {
  const versions = valueAt(crd, "spec", "versions");
  const declared = (Array.isArray(versions) ? versions : []) as readonly JsonObject[];
  const group = textAt(crd, "spec", "group");
  const scaleOf = (one: JsonObject): JsonObject | undefined => {
    const scale = valueAt(one, "subresources", "scale");
    return scale === undefined || scale === null ? undefined : (scale as JsonObject);
  };
  const own = declared.find((one) => one["name"] === version);
  const scale = own && scaleOf(own);
  if (scale === undefined) {
    return undefined;
  }
  const selectorPath = names(textAt(scale, "labelSelectorPath"));
  return {
    replicas: names(textAt(scale, "specReplicasPath")),
    current: names(textAt(scale, "statusReplicasPath")),
    selector: (object) => (selectorPath.length === 0 ? "" : textAt(object, ...selectorPath)),
    byVersion: new Map(
      declared.map((one) => {
        const path = scaleOf(one);
        return [
          `${group}/${textAt(one, "name")}`,
          path === undefined ? null : names(textAt(path, "specReplicasPath")),
        ] as const;
      }),
    ),
  };
}

/** Whether objects of a type have a Scale. */
export function hasScale(type: ResourceType): boolean {
  return hasSubresource(type, "scale");
}

/** ".spec.replicas" as its names. */
function names(path: string): string[] {
  return path.split(".").filter((name) => name !== "");
}
