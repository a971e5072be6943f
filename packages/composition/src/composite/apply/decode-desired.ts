// SPDX-License-Identifier: Apache-2.0

import type { Resource } from "@purlin/function-protocol";
import { wrapError } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { gvkOf, type KubeObject } from "@purlin/kube-objects/object";

/** The types of the metadata fields that composition reads and changes. The API server validates the rest. */
const metadataShape: Readonly<Record<string, "string" | "object" | "list">> = {
  name: "string",
  generateName: "string",
  namespace: "string",
  labels: "object",
  annotations: "object",
  ownerReferences: "list",
};

/** Handles an error about a desired resource: throws it, or continues with a resource that a cluster would refuse. */
export type Refuse = (error: Error) => void;

/** The object that a function desires under a name. Refuses an object that a cluster would refuse or that cannot be completed. */
export function decodeDesired(name: string, { resource }: Resource, refuse: Refuse): KubeObject {
  const value: JsonObject = resource?.value ?? {};
  if (name === "") refuse(unnamed(value));
  const text = `cannot unmarshal desired composed resource "${name}" from RunFunctionResponse`;
  try {
    gvkOf(value);
  } catch (error) {
    refuse(wrapError(text, error));
  }
  try {
    return { ...value, ...typeIn(value), metadata: metadataOf(value) } as KubeObject;
  } catch (error) {
    throw wrapError(text, error);
  }
}

/** The next reconcile could not find out which resource of the pipeline it was. */
function unnamed({ kind }: JsonObject): Error {
  const what = typeof kind === "string" ? `a ${kind}` : "one of them";
  return new Error(`cannot use a desired composed resource without a name: ${what} has none`);
}

/** The type of an object; a missing field or an invalid apiVersion is empty. */
function typeIn({ apiVersion, kind }: JsonObject): { readonly apiVersion: string; readonly kind: string } {
  const type = { apiVersion: String(apiVersion ?? ""), kind: String(kind ?? "") };
  return type.apiVersion.split("/").length > 2 ? { apiVersion: "", kind: "" } : type;
}

function metadataOf({ metadata = {} }: JsonObject): JsonObject {
  requireShape("metadata", metadata, "object");
  const members = (metadata ?? {}) as JsonObject;
  for (const [field, wanted] of Object.entries(metadataShape)) {
    requireShape(`metadata.${field}`, members[field], wanted);
  }
  requireOwners(members["ownerReferences"]);
  return { ...members };
}

function requireOwners(owners: JsonValue | undefined): void {
  for (const [index, owner] of ((owners ?? []) as readonly JsonValue[]).entries()) {
    if (owner === null) throw new Error(`metadata.ownerReferences[${index}] must be an object, and is null`);
    requireShape(`metadata.ownerReferences[${index}]`, owner, "object");
  }
}

function requireShape(path: string, value: JsonValue | undefined, wanted: "string" | "object" | "list"): void {
  if (value === undefined || value === null || shapeOf(value) === wanted) return;
  throw new Error(`${path} must be ${withArticle(wanted)}, not ${withArticle(shapeOf(value))}`);
}

function withArticle(shape: string): string {
  return `${shape === "object" ? "an" : "a"} ${shape}`;
}

function shapeOf(value: JsonValue): string {
  if (Array.isArray(value)) return "list";
  return isJsonObject(value) ? "object" : typeof value;
}
