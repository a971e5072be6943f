// SPDX-License-Identifier: Apache-2.0

import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import type { GroupVersionKind } from "../object/gvk.ts";
import { builtinComponentsForCustomResources } from "./builtin-openapi.ts";
import { type CrdVersion, servedVersions } from "./crd-versions.ts";
import { kindsExtension, type OpenAPIDocument, type OpenAPISchema } from "./open-api-document.ts";
import { openAPIPathKey } from "./path-key.ts";
import { publishSchema } from "./published-schema.ts";
import { referenceTo } from "./reference.ts";

const metaV1 = "io.k8s.apimachinery.pkg.apis.meta.v1";
const alwaysNeeded = ["DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status"].map((name) => `${metaV1}.${name}`);

/**
 * The OpenAPI v3 document of each served version of a CustomResourceDefinition, by path key, shaped as the reference
 * server publishes it: the kind with `apiVersion`, `kind` and `metadata`, its list kind, and the built-in components
 * they need. Descriptions are the author's own only, and `paths` is empty. The schema is published as far as the server's
 * own type for schemas can hold it; whether it is structural is not checked. Throws an OpenAPIError that names the field
 * when the object is not a usable CustomResourceDefinition.
 */
export function crdToOpenAPI(crd: unknown): Map<string, OpenAPIDocument> {
  return new Map(servedVersions(crd).map((version) => [openAPIPathKey(version), documentOf(version)]));
}

/** The component name of a custom resource: its group reversed, version and kind, such as `org.example.v1.Widget`. */
export function customResourceComponent({ group, version, kind }: GroupVersionKind): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

function documentOf(version: CrdVersion): OpenAPIDocument {
  const kind = customResourceComponent(version);
  const listKind = customResourceComponent({ ...version, kind: version.listKind });
  const scale = version.hasScale ? ["io.k8s.api.autoscaling.v1.Scale"] : [];
  const schemas = builtinComponentsForCustomResources([...alwaysNeeded, ...scale]);
  schemas[kind] = { ...kindSchema(version.schema), ...extensions(version, version.kind) };
  schemas[listKind] = { ...listSchema(kind), ...extensions(version, version.listKind) };
  const info = { title: "Kubernetes CRD Swagger", version: "v0.1.0" };
  return { openapi: "3.0.0", info, paths: {}, components: { schemas } };
}

function kindSchema(schema: JsonObject | undefined): OpenAPISchema {
  // Without a schema the server names no property at all: kubectl would take any other field for an unknown one.
  if (schema === undefined) return { type: "object" };
  const published = publishSchema(schema);
  const root = { ...published, properties: { ...propertiesOf(published), ...metaProperties("ObjectMeta") } };
  return withEmbeddedResources(root);
}

function listSchema(kind: string): OpenAPISchema {
  const items = { type: "array", items: { $ref: referenceTo(kind) } };
  return { type: "object", required: ["items"], properties: { items, ...metaProperties("ListMeta") } };
}

function metaProperties(metadata: "ObjectMeta" | "ListMeta"): JsonObject {
  return {
    apiVersion: { type: "string" },
    kind: { type: "string" },
    metadata: { allOf: [{ $ref: referenceTo(`${metaV1}.${metadata}`) }] },
  };
}

function extensions({ group, version, selectableFields }: CrdVersion, kind: string): JsonObject {
  const kinds = { [kindsExtension]: [{ group, kind, version }] };
  if (selectableFields.length === 0) return kinds;
  return { ...kinds, "x-kubernetes-selectable-fields": selectableFields.map((fieldPath) => ({ fieldPath })) };
}

/** Gives every embedded resource the members that each object has, and requires those that say what it is. */
function withEmbeddedResources(schema: OpenAPISchema): OpenAPISchema {
  const changes: Record<string, JsonValue> = {};
  const { properties, items, additionalProperties, required } = schema;
  if (isJsonObject(properties)) {
    const embedded = Object.entries(properties).map(([name, property]) => [name, embeddedIn(property)]);
    changes["properties"] = Object.fromEntries(embedded);
  }
  if (isJsonObject(items)) changes["items"] = withEmbeddedResources(items);
  if (isJsonObject(additionalProperties)) changes["additionalProperties"] = withEmbeddedResources(additionalProperties);
  const changed = { ...schema, ...changes };
  if (schema["x-kubernetes-embedded-resource"] !== true) return changed;
  const before: readonly JsonValue[] = Array.isArray(required) ? required : [];
  const added = ["kind", "apiVersion"].filter((name) => !before.includes(name));
  return {
    ...changed,
    required: [...before, ...added],
    properties: { ...propertiesOf(changed), ...metaProperties("ObjectMeta") },
  };
}

function embeddedIn(property: JsonValue | undefined): JsonValue {
  return isJsonObject(property) ? withEmbeddedResources(property) : (property ?? {});
}

function propertiesOf(schema: OpenAPISchema): JsonObject {
  const { properties } = schema;
  return isJsonObject(properties) ? properties : {};
}
