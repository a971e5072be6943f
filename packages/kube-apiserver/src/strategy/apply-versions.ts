// SPDX-License-Identifier: Apache-2.0
import { type ApplyType, type ApplyVersions, applyTypeOf } from "@purlin/kube-objects/apply";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { formatApiVersion, type GroupVersionKind, parseApiVersion } from "@purlin/kube-objects/object";
import { builtinOpenAPI, findSchema, openAPIPathKey } from "@purlin/kube-objects/openapi";
import type { StrategicMergeSchema } from "@purlin/kube-objects/patch";
import type { ResourceType } from "../registry/registry.ts";

/** Conversions between the versions of a built-in kind: from each version to the others, by apiVersion. */
export type VersionConversions = Readonly<Record<string, Readonly<Record<string, (object: JsonObject) => JsonObject>>>>;

/**
 * How fields of a built-in kind are owned. Types are made from their published schemas on first use. Managers may have recorded their
 * fields at another version of the kind, when `conversions` lead there.
 */
export function builtinApplyVersions(type: ResourceType, conversions: VersionConversions = {}): ApplyVersions {
  const versions = new Set([formatApiVersion(type), ...Object.keys(conversions)]);
  const made = new Map<string, ApplyType>();
  return {
    typeAt: (apiVersion) => {
      if (!versions.has(apiVersion)) return undefined;
      const known = made.get(apiVersion) ?? makeType({ ...parseApiVersion(apiVersion), kind: type.kind });
      made.set(apiVersion, known);
      return known;
    },
    convert: (object, apiVersion) => conversions[String(object["apiVersion"])]?.[apiVersion]?.(object),
  };
}

function makeType(type: GroupVersionKind): ApplyType {
  const { schema, component } = builtinSchema(type);
  return applyTypeOf(schema, { component });
}

/** The published schema of a built-in kind, and those it refers to. */
export function builtinSchema({ group, version, kind }: GroupVersionKind): StrategicMergeSchema {
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
