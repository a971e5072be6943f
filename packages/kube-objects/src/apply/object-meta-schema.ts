// SPDX-License-Identifier: Apache-2.0
// The schema of what every object has. Custom resources get it without loading the built-in schemas.
import type { JsonObject } from "../json/json-value.ts";

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const reference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${meta}.${name}` });
const text: JsonObject = { type: "string" };
const requiredText: JsonObject = { type: "string", default: "" };
const texts: JsonObject = { type: "object", additionalProperties: text };
const integer: JsonObject = { type: "integer", format: "int64" };
const time: JsonObject = { type: "string", format: "date-time" };
const flag: JsonObject = { type: "boolean" };

/** The components behind metadata, by name. */
export const objectMetaComponents: Readonly<Record<string, JsonObject>> = {
  [`${meta}.ObjectMeta`]: {
    type: "object",
    properties: {
      annotations: texts,
      creationTimestamp: time,
      deletionGracePeriodSeconds: integer,
      deletionTimestamp: time,
      finalizers: { type: "array", items: text, "x-kubernetes-list-type": "set" },
      generateName: text,
      generation: integer,
      labels: texts,
      managedFields: { type: "array", items: reference("ManagedFieldsEntry"), "x-kubernetes-list-type": "atomic" },
      name: text,
      namespace: text,
      ownerReferences: {
        type: "array",
        items: reference("OwnerReference"),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["uid"],
      },
      resourceVersion: text,
      selfLink: text,
      uid: text,
    },
  },
  [`${meta}.OwnerReference`]: {
    type: "object",
    "x-kubernetes-map-type": "atomic",
    properties: {
      apiVersion: requiredText,
      blockOwnerDeletion: flag,
      controller: flag,
      kind: requiredText,
      name: requiredText,
      uid: requiredText,
    },
  },
  [`${meta}.ManagedFieldsEntry`]: {
    type: "object",
    properties: {
      apiVersion: text,
      fieldsType: text,
      fieldsV1: { type: "object" },
      manager: text,
      operation: text,
      subresource: text,
      time,
    },
  },
};

/** The properties with those every object has, which win. */
export function withObjectFields(properties: JsonObject): JsonObject {
  return { ...properties, apiVersion: text, kind: text, metadata: reference("ObjectMeta") };
}
