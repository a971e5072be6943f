// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "../json/json-value.ts";
import type { GroupVersionKind } from "../object/kube-object.ts";
import { isNestedDeeperThan, maxNesting } from "../schema/value-kind.ts";
import { builtinComponentsForCustomResources } from "./builtin-openapi.ts";
import {
  kindsExtension,
  type OpenAPIDocument,
  OpenAPIError,
  type OpenAPISchema,
  openAPIPathKey,
  referenceTo,
} from "./open-api-document.ts";
import { publishSchema } from "./published-schema.ts";

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

/** What a CustomResourceDefinition says about the kind it defines, in one served version. */
interface CrdVersion {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly schema: JsonObject | undefined;
  readonly hasScale: boolean;
  /** Paths without their leading dot. */
  readonly selectableFields: readonly string[];
}

/** The served versions of a CustomResourceDefinition. Throws an {@link OpenAPIError} that names what is wrong with it. */
export function servedVersions(crd: unknown): CrdVersion[] {
  const object = requireCrd(crd);
  const name = crdName(object);
  const spec = requireObject(object, "spec", name);
  const group = requireString(spec, "group", `${name}: spec`);
  const names = requireObject(spec, "names", `${name}: spec`);
  const kind = requireString(names, "kind", `${name}: spec.names`);
  const listKind = names["listKind"] === undefined ? `${kind}List` : requireString(names, "listKind", name);
  const versions = spec["versions"];
  if (!Array.isArray(versions)) throw new OpenAPIError(`${name}: spec.versions must be a list`);
  return versions.flatMap((entry: JsonValue, index): CrdVersion[] => {
    const where = `${name}: spec.versions[${index}]`;
    if (!isJsonObject(entry)) throw new OpenAPIError(`${where} must be an object`);
    if (entry["served"] !== true) return [];
    const { hasScale, selectableFields } = detailsOf(entry);
    const version = requireString(entry, "name", where);
    return [{ group, version, kind, listKind, schema: schemaOf(entry, where), hasScale, selectableFields }];
  });
}

function requireCrd(crd: unknown): JsonObject {
  if (!isJsonObject(crd)) throw new OpenAPIError("a CustomResourceDefinition must be an object");
  const { apiVersion, kind } = crd;
  if (kind === "CustomResourceDefinition" && apiVersion === "apiextensions.k8s.io/v1") return crd;
  throw new OpenAPIError(`expected an apiextensions.k8s.io/v1 CustomResourceDefinition, got ${apiVersion} ${kind}`);
}

function crdName(crd: JsonObject): string {
  const metadata = crd["metadata"];
  const name = isJsonObject(metadata) ? metadata["name"] : undefined;
  return `CustomResourceDefinition ${JSON.stringify(typeof name === "string" ? name : "")}`;
}

function requireObject(parent: JsonObject, key: string, where: string): JsonObject {
  const value = ownValue(parent, key);
  if (!isJsonObject(value)) throw new OpenAPIError(`${where}: ${key} must be an object`);
  return value;
}

function requireString(parent: JsonObject, key: string, where: string): string {
  const value = ownValue(parent, key);
  if (typeof value !== "string" || value === "") throw new OpenAPIError(`${where}: ${key} must be a non-empty string`);
  return value;
}

function schemaOf(version: JsonObject, where: string): JsonObject | undefined {
  const holder = version["schema"];
  if (holder === undefined || holder === null) return undefined;
  if (!isJsonObject(holder)) throw new OpenAPIError(`${where}: schema must be an object`);
  const schema = holder["openAPIV3Schema"];
  if (schema === undefined || schema === null) return undefined;
  if (!isJsonObject(schema)) throw new OpenAPIError(`${where}: schema.openAPIV3Schema must be an object`);
  if (isNestedDeeperThan(schema, maxNesting)) {
    throw new OpenAPIError(`${where}: schema.openAPIV3Schema is nested deeper than ${maxNesting} levels`);
  }
  return schema;
}

function detailsOf(version: JsonObject): Pick<CrdVersion, "hasScale" | "selectableFields"> {
  const { subresources, selectableFields } = version;
  const fields = Array.isArray(selectableFields) ? selectableFields : [];
  return {
    hasScale: isJsonObject(subresources) && isJsonObject(subresources["scale"]),
    selectableFields: fields.flatMap((field: JsonValue) => {
      const path = isJsonObject(field) ? field["jsonPath"] : undefined;
      return typeof path === "string" ? [path.replace(/^\./, "")] : [];
    }),
  };
}
