// SPDX-License-Identifier: Apache-2.0
import type { Schema } from "@purlin/kube-objects/schema";

/** The schema of the values of a map, if it has one. */
export function valueSchema({ additionalProperties }: Schema): Schema | undefined {
  return typeof additionalProperties === "object" ? additionalProperties : undefined;
}

const text: Schema = { type: "string" };
const objectMeta: Schema = { type: "object", properties: { name: text, generateName: text } };

/** A resource root: apiVersion, kind and the two names of its metadata can always be read, and no other metadata. */
export function withResourceFields(schema: Schema): Schema {
  const { properties } = schema;
  const metadata = properties?.["metadata"];
  const isComplete =
    properties?.["kind"]?.type === "string" &&
    properties["apiVersion"]?.type === "string" &&
    metadata?.type === "object" &&
    metadata.properties?.["name"]?.type === "string" &&
    metadata.properties["generateName"]?.type === "string";
  if (isComplete) return schema;
  const { items: _items, ...rest } = schema;
  return { ...rest, properties: { ...properties, kind: text, apiVersion: text, metadata: objectMeta } };
}
