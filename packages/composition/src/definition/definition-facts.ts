// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, objectAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import type { CompositeSchema } from "../composite-resource/crossplane-fields.ts";

/** Where composite resources of a definition live, and in which style their schema is. */
export type CompositeScope = "LegacyCluster" | "Namespaced" | "Cluster";

/** Status fields we add to composite resources; an author who has a field of that name keeps it, and we never write it. */
export interface AddedStatusFields {
  readonly claimConditions: boolean;
  readonly lastHandledReconcileAt: boolean;
  readonly functionRevisions: boolean;
}

/** What the controllers of a definition's composite resources and claims need to know of it when they start. */
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

/** Reads a CompositeResourceDefinition, in whichever of its versions. */
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

/** The scope of a definition. Who says nothing means the legacy one, as definitions did before there were others. */
export function scopeOf(xrd: KubeObject): CompositeScope {
  const scope = memberAt(xrd, ["spec", "scope"]);
  return scope === "Namespaced" || scope === "Cluster" ? scope : "LegacyCluster";
}

/** The versions of a definition, in their order. */
export function versionsOf(xrd: KubeObject): readonly JsonObject[] {
  const versions = memberAt(xrd, ["spec", "versions"]);
  return Array.isArray(versions) ? versions.filter(isJsonObject) : [];
}

/** The version whose objects are stored and reconciled: the last that says so. */
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
