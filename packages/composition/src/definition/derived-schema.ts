// SPDX-License-Identifier: Apache-2.0

import { type Fields, text } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import { memberAt, objectAt } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { checkSchemaShape } from "./check-schema-shape.ts";

// Names of composite resources and claims become label values.
const maxNameLength = 63;

const specKeywords = [
  "description",
  "required",
  "properties",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
  "oneOf",
];
const statusKeywords = ["description", "required", "properties", "x-kubernetes-validations", "oneOf"];
const rootKeywords = ["description", "x-kubernetes-validations"];

/** The schema of a derived kind: the author's spec and status, overlaid with the fields of the control plane. */
export function derivedSchema(
  version: JsonObject,
  path: string,
  fields: { readonly spec: Fields; readonly status: Fields },
): Schema {
  const authored = authoredSchema(version, path);
  const properties = {
    apiVersion: text,
    kind: text,
    metadata: { type: "object", properties: { name: { type: "string", maxLength: nameLimit(authored) } } },
    spec: merged(objectAt(authored, ["properties", "spec"]), specKeywords, fields.spec),
    status: merged(objectAt(authored, ["properties", "status"]), statusKeywords, fields.status),
  };
  return { type: "object", required: ["spec"], ...pick(authored, rootKeywords), properties };
}

function authoredSchema(version: JsonObject, path: string): JsonObject {
  const schema = memberAt(version, ["schema"]);
  if (schema === undefined || schema === null) throw new Error(`${path}: custom resource validation cannot be nil`);
  const root = memberAt(version, ["schema", "openAPIV3Schema"]);
  return checkSchemaShape(root, `${path}.openAPIV3Schema`);
}

function nameLimit(authored: JsonObject): number {
  const wanted = memberAt(authored, ["properties", "metadata", "properties", "name", "maxLength"]);
  return typeof wanted === "number" ? Math.min(maxNameLength, wanted) : maxNameLength;
}

function merged(authored: JsonObject, keywords: readonly string[], injected: Fields): Schema {
  const kept = pick(authored, keywords);
  const properties = { ...objectAt(kept, ["properties"]), ...injected } as Fields;
  return { type: "object", ...kept, properties };
}

function pick(schema: JsonObject, keywords: readonly string[]): JsonObject {
  const kept = keywords.flatMap((keyword) => {
    const value = schema[keyword];
    return value === undefined ? [] : [[keyword, value] as const];
  });
  return Object.fromEntries(kept);
}
