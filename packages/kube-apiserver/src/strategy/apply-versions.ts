// SPDX-License-Identifier: Apache-2.0
import { type ApplyType, type ApplyVersions, applyTypeOf } from "@purlin/kube-objects/apply";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { formatApiVersion, type GroupVersionKind } from "@purlin/kube-objects/object";
import { builtinOpenAPI, findSchema, openAPIPathKey } from "@purlin/kube-objects/openapi";
import type { StrategicMergeSchema } from "@purlin/kube-objects/patch";
import type { ResourceType } from "../registry/resource-type.ts";

/** How fields of a built-in kind are owned. Types are made from its published schema on first use. */
export function builtinApplyVersions(type: ResourceType): ApplyVersions {
  const own = formatApiVersion(type);
  let made: ApplyType | undefined;
  return {
    typeAt: (apiVersion) => {
      if (apiVersion !== own) return undefined;
      made ??= makeType(type);
      return made;
    },
  };
}

function makeType(type: ResourceType): ApplyType {
  const { schema, component } = builtinSchema(type);
  return applyTypeOf(schema, { component });
}

/** The published schema of a built-in kind, and those it refers to. */
export function builtinSchema({ group, version, kind }: ResourceType): StrategicMergeSchema {
  return schemaIn(openAPIPathKey({ group, version }), { group, version, kind });
}

/** The schema of a Scale, which no group of its own publishes here. */
export function scaleSchema(): StrategicMergeSchema {
  return schemaIn("apis/apps/v1", { group: "autoscaling", version: "v1", kind: "Scale" });
}

let scaleType: ApplyType | undefined;

/** How fields of a Scale are owned. */
export function scaleApplyType(): ApplyType {
  const { schema, component } = scaleSchema();
  scaleType ??= applyTypeOf(schema, { component });
  return scaleType;
}

function schemaIn(key: string, { group, version, kind }: GroupVersionKind): StrategicMergeSchema {
  const document = builtinOpenAPI().document(key);
  const schemas: JsonObject = (document?.components?.schemas ?? {}) as JsonObject;
  const name = document && findSchema(document, { group, version, kind });
  const schema = name === undefined ? undefined : schemas[name];
  if (!isJsonObject(schema)) {
    throw new Error(`no schema is known for ${kind} in ${formatApiVersion({ group, version })}`);
  }
  return { schema, component: (wanted) => schemaNamed(schemas, wanted) };
}

function schemaNamed(schemas: JsonObject, name: string): JsonObject | undefined {
  const schema = Object.hasOwn(schemas, name) ? schemas[name] : undefined;
  return isJsonObject(schema) ? schema : undefined;
}
