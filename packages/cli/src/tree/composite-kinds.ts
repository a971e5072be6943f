// SPDX-License-Identifier: Apache-2.0

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject, TypeRef } from "@purlin/kube-objects/object";

/** The kinds a composite resource definition makes: its composite resources and, if it offers them, claims. */
interface CompositeKinds {
  readonly composite: TypeRef;
  readonly claim: TypeRef | undefined;
}

/** What a definition makes, in the version that is stored; undefined while it does not say. */
export function kindsOf(definition: KubeObject): CompositeKinds | undefined {
  const spec = objectOf(definition["spec"]);
  const { group, versions } = spec;
  const names = objectOf(spec["names"]);
  const claims = objectOf(spec["claimNames"]);
  if (typeof group !== "string" || typeof names["kind"] !== "string" || !isJsonArray(versions)) return undefined;
  const version = versions.map((one) => objectOf(one)).find((one) => one["referenceable"] === true)?.["name"];
  if (typeof version !== "string") return undefined;
  const apiVersion = `${group}/${version}`;
  const claim = typeof claims["kind"] === "string" ? { apiVersion, kind: claims["kind"] } : undefined;
  return { composite: { apiVersion, kind: names["kind"] }, claim };
}

/** Whether a definition says that its kinds are served: composite resources, and claims if it has any. */
export function isOffered(definition: KubeObject): boolean {
  const conditions = objectOf(definition["status"])["conditions"];
  const isTrue = (type: string): boolean =>
    isJsonArray(conditions) &&
    conditions.some((value) => objectOf(value)["type"] === type && objectOf(value)["status"] === "True");
  return isTrue("Established") && (kindsOf(definition)?.claim === undefined || isTrue("Offered"));
}

/** A reference of a claim to its composite resource, or of a composite resource to what it composes. */
export interface ObjectReference extends TypeRef {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/**
 * What an object refers to: a claim its composite resource, a composite resource what it composes, in either place where
 * these are kept. What a namespaced composite resource composes is in its own namespace unless the reference names one.
 */
export function referencesOf(object: KubeObject): ObjectReference[] {
  const spec = objectOf(object["spec"]);
  const lists = [spec["resourceRefs"], objectOf(spec["crossplane"])["resourceRefs"]].filter(isJsonArray).flat();
  const claimed = isJsonObject(spec["resourceRef"]) ? [spec["resourceRef"]] : [];
  const own = claimed.length === 0 ? object.metadata.namespace : undefined;
  return [...claimed, ...lists].flatMap((value) => referenceOf(value, own) ?? []);
}

/** The function revisions that last composed a composite resource, without duplicates; empty if they are not recorded. */
export function functionRevisionsOf(object: KubeObject): readonly string[] {
  const records = objectOf(objectOf(object["status"])["crossplane"])["functionRevisions"];
  const names = isJsonArray(records) ? records.map((record) => objectOf(record)["functionRevision"]) : [];
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

function referenceOf(value: JsonValue, ownNamespace: string | undefined): ObjectReference | undefined {
  const { apiVersion, kind, name, namespace } = objectOf(value);
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return undefined;
  const where = typeof namespace === "string" ? namespace : ownNamespace;
  return { apiVersion, kind, name, ...(where === undefined ? {} : { namespace: where }) };
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value as JsonValue) ? (value as JsonObject) : {};
}
