// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import type { CompositeSchema } from "../composite-resource/crossplane-fields.ts";

/** The scope of the composite resources of a definition, and the style of their schema. */
export type CompositeScope = "LegacyCluster" | "Namespaced" | "Cluster";

/** Status fields that are added to composite resources. A field of the same name in the author's schema wins, and is never written. */
export interface AddedStatusFields {
  readonly claimConditions: boolean;
  readonly lastHandledReconcileAt: boolean;
  readonly functionRevisions: boolean;
}

/** The facts of a definition that the controllers of its composite resources and claims are started with. */
export interface DefinitionFacts {
  readonly name: string;
  readonly uid: string;
  readonly generation: number;
  readonly scope: CompositeScope;
  readonly schema: CompositeSchema;
  /** The kind of composite resources, in the version that is referenced and stored. */
  readonly compositeType: TypeRef;
  /** The kind of claims, when the definition offers any. */
  readonly claimType: TypeRef | undefined;
}

/** Reads a CompositeResourceDefinition of any version. */
export function definitionFacts(xrd: KubeObject): DefinitionFacts {
  const scope = scopeOf(xrd);
  const claimKind = textAt(xrd, ["spec", "claimNames", "kind"]);
  return {
    name: xrd.metadata.name ?? "",
    uid: xrd.metadata.uid ?? "",
    generation: xrd.metadata.generation ?? 0,
    scope,
    schema: scope === "LegacyCluster" ? "legacy" : "modern",
    compositeType: { apiVersion: referenceableApiVersion(xrd), kind: textAt(xrd, ["spec", "names", "kind"]) ?? "" },
    claimType: claimKind === undefined ? undefined : { apiVersion: referenceableApiVersion(xrd), kind: claimKind },
  };
}

/** The scope of a definition; LegacyCluster by default, as in definitions of v1. */
export function scopeOf(xrd: KubeObject): CompositeScope {
  const scope = memberAt(xrd, ["spec", "scope"]);
  return scope === "Namespaced" || scope === "Cluster" ? scope : "LegacyCluster";
}

/** The versions of a definition, in their order. */
export function versionsOf(xrd: KubeObject): readonly JsonObject[] {
  const versions = memberAt(xrd, ["spec", "versions"]);
  return Array.isArray(versions) ? versions.filter(isJsonObject) : [];
}

/** The version whose objects are stored and reconciled: the last referenceable one. */
export function referenceableVersion(xrd: KubeObject): JsonObject | undefined {
  return versionsOf(xrd).findLast(({ referenceable }) => referenceable === true);
}

function referenceableApiVersion(xrd: KubeObject): string {
  const version = referenceableVersion(xrd)?.["name"];
  return `${textAt(xrd, ["spec", "group"]) ?? ""}/${typeof version === "string" ? version : ""}`;
}

/** Which of our status fields a version of a composite resource gets. */
export function addedStatusFields(
  version: JsonObject,
  isLegacy: boolean,
  withFunctionRevisions: boolean,
): AddedStatusFields {
  const authored = objectAt(version, ["schema", "openAPIV3Schema", "properties", "status", "properties"]);
  return {
    claimConditions: isLegacy && !Object.hasOwn(authored, "claimConditions"),
    lastHandledReconcileAt: !Object.hasOwn(authored, "lastHandledReconcileAt"),
    functionRevisions: withFunctionRevisions && !Object.hasOwn(authored, "crossplane"),
  };
}
