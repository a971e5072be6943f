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

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value as JsonValue) ? (value as JsonObject) : {};
}
