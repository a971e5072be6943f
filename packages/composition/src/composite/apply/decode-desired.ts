// SPDX-License-Identifier: Apache-2.0

import type { Resource } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-client/objects";
import { wrapError } from "@purlin/kube-controller/object";
import { gvkOf, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects";

/** What the members of metadata that we read and change must be. The API server judges the rest. */
const metadataShape: Readonly<Record<string, "string" | "object" | "list">> = {
  name: "string",
  generateName: "string",
  namespace: "string",
  labels: "object",
  annotations: "object",
  ownerReferences: "list",
};

/** The object that a function wants under a name. Throws when it is none, or one that cannot be completed. */
export function decodeDesired(name: string, { resource }: Resource): KubeObject {
  const value: JsonObject = resource?.value ?? {};
  if (name === "") throw unnamed(value);
  try {
    gvkOf(value);
    return { ...value, metadata: metadataOf(value) } as unknown as KubeObject;
  } catch (error) {
    throw wrapError(`cannot unmarshal desired composed resource "${name}" from RunFunctionResponse`, error);
  }
}

/** The next pass would not find out which resource of the pipeline it was. */
function unnamed({ kind }: JsonObject): Error {
  const what = typeof kind === "string" ? `a ${kind}` : "one of them";
  return new Error(
    `cannot use a desired composed resource without a name: functions name resources, and ${what} has none`,
  );
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
