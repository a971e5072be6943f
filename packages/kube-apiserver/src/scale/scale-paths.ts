// SPDX-License-Identifier: Apache-2.0
import { unclassifiedError } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { objectsAt, stringAt } from "@purlin/kube-objects/object";
import { namesOf, readAt, scaleFields } from "../custom/scale-problems.ts";
import type { ScalePaths } from "../strategy/kind-rules.ts";

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
