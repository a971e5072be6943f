// SPDX-License-Identifier: Apache-2.0
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
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

// Rules that the schema of definitions cannot express, with errors in terms of the definition.

/** Throws when the names of claims are missing, or are those of composite resources. */
export function checkClaimNames(xrd: KubeObject): void {
  if (memberAt(xrd, ["spec", "claimNames"]) === undefined) {
    throw new Error("invalid resource claim names: missing names");
  }
  for (const field of ["kind", "plural", "singular", "listKind"]) {
    const claim = textAt(xrd, ["spec", "claimNames", field]);
    if (claim !== undefined && claim === textAt(xrd, ["spec", "names", field])) {
      throw new Error(`invalid resource claim names: ${goQuote(claim)} conflicts with composite resource name`);
    }
  }
}

/**
 * Throws when the versions of a definition cannot become those of a CRD. The API server would refuse them too, but with an error
 * about a CRD that the author of the definition has never seen.
 */
export function checkVersions(xrd: KubeObject): void {
  const versions = versionsOf(xrd);
  requireDistinct(versions.map(({ name }) => String(name)));
  const referenceable = versions.filter((version) => version["referenceable"] === true);
  const [only, second] = referenceable;
  if (only === undefined) {
    throw new Error("spec.versions: none is referenceable; set referenceable: true on the version to store");
  }
  if (second !== undefined) {
    const list = referenceable.map(({ name }) => goQuote(String(name))).join(" and ");
    throw new Error(`spec.versions: only one may be referenceable, but ${list} are`);
  }
  if (only["served"] !== true) {
    const index = versions.indexOf(only);
    throw new Error(`spec.versions[${index}].served: the referenceable version must be served`);
  }
}

function requireDistinct(names: readonly string[]): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new Error(`spec.versions: ${goQuote(name)} is listed more than once`);
    seen.add(name);
  }
}
