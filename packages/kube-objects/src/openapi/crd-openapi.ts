// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, isNumber, type JsonObject, type JsonValue, ownValue, setOwnValue } from "../json/json-value.ts";
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

// The schema of a CustomResourceDefinition as the server publishes it: what its own type for schemas holds, nothing else,
// empty members left out, int-or-string spelled out.

type Draft = Record<string, JsonValue>;

const copiedIfFilled = ["description", "title", "type", "format", "pattern"];
const copiedIfTrue = ["nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"];
const copiedNumbers = [
  ...["minimum", "maximum", "multipleOf", "minLength", "maxLength"],
  ...["minItems", "maxItems", "minProperties", "maxProperties"],
];
const trueExtensions = ["preserve-unknown-fields", "embedded-resource", "int-or-string"];
const ruleFields = ["rule", "message", "messageExpression", "reason", "fieldPath"];

/** Publishes a schema in which `properties`, `items` and `additionalProperties` specify values. */
export function publishSchema(schema: JsonObject): OpenAPISchema {
  const draft: Draft = {};
  const { items, properties, additionalProperties } = schema;
  if (isJsonObject(items)) draft["items"] = publishSchema(items);
  copyProperties(draft, properties, publishSchema);
  if (typeof additionalProperties === "boolean") draft["additionalProperties"] = additionalProperties;
  if (isJsonObject(additionalProperties)) draft["additionalProperties"] = publishSchema(additionalProperties);
  copyKeywords(draft, schema);
  if (draft["x-kubernetes-int-or-string"] === true) spellOutIntOrString(draft);
  return draft;
}

/** Publishes a schema inside allOf, anyOf, oneOf or not, which only restricts values specified elsewhere. */
function publishRestriction(schema: JsonObject): OpenAPISchema {
  const draft: Draft = {};
  const { items, properties } = schema;
  if (isJsonObject(items)) draft["items"] = publishRestriction(items);
  copyProperties(draft, properties, publishRestriction);
  copyKeywords(draft, schema);
  return draft;
}

function copyProperties(draft: Draft, properties: unknown, publish: (schema: JsonObject) => OpenAPISchema): void {
  if (!isJsonObject(properties)) return;
  const published: Draft = {};
  for (const [name, property] of Object.entries(properties)) {
    if (isJsonObject(property)) setOwnValue(published, name, publish(property));
  }
  if (Object.keys(published).length > 0) draft["properties"] = published;
}

function copyKeywords(draft: Draft, schema: JsonObject): void {
  for (const key of copiedIfFilled)
    copyIf(draft, { key, value: schema[key] }, (value) => typeof value === "string" && value !== "");
  for (const key of copiedIfTrue) copyIf(draft, { key, value: schema[key] }, (value) => value === true);
  for (const key of copiedNumbers) copyIf(draft, { key, value: schema[key] }, isNumber);
  for (const key of ["default", "example"]) copyIf(draft, { key, value: schema[key] }, (value) => value !== null);
  for (const key of ["enum", "required"]) copyIf(draft, { key, value: schema[key] }, isFilledList);
  copyIf(draft, { key: "externalDocs", value: schema["externalDocs"] }, isJsonObject);
  for (const key of ["allOf", "anyOf", "oneOf"]) {
    const members = schema[key];
    if (isFilledList(members)) draft[key] = members.filter(isJsonObject).map(publishRestriction);
  }
  const { not } = schema;
  if (isJsonObject(not)) draft["not"] = publishRestriction(not);
  copyExtensions(draft, schema);
}

function copyExtensions(draft: Draft, schema: JsonObject): void {
  for (const name of trueExtensions)
    copyIf(draft, { key: extension(name), value: schema[extension(name)] }, (value) => value === true);
  for (const name of ["list-type", "map-type"]) {
    copyIf(draft, { key: extension(name), value: schema[extension(name)] }, (value) => typeof value === "string");
  }
  copyIf(draft, { key: extension("list-map-keys"), value: schema[extension("list-map-keys")] }, isFilledList);
  const rules = schema[extension("validations")];
  if (isFilledList(rules)) draft[extension("validations")] = rules.filter(isJsonObject).map(publishRule);
}

function publishRule(rule: JsonObject): JsonObject {
  const draft: Draft = {};
  for (const key of ruleFields) copyIf(draft, { key, value: rule[key] }, (value) => value !== "" || key === "rule");
  copyIf(draft, { key: "optionalOldSelf", value: rule["optionalOldSelf"] }, (value) => typeof value === "boolean");
  return draft;
}

// A reader that knows no extension still sees that both types are allowed.
function spellOutIntOrString(draft: Draft): void {
  const { anyOf, allOf } = draft;
  const first = Array.isArray(allOf) ? (allOf[0] as JsonValue) : undefined;
  if (isEitherType(anyOf) || (isJsonObject(first) && isEitherType(first["anyOf"]))) return;
  const either = [{ type: "integer" }, { type: "string" }];
  if (anyOf === undefined) draft["anyOf"] = either;
  else draft["allOf"] = [{ anyOf: either }, ...(Array.isArray(allOf) ? (allOf as JsonValue[]) : [])];
}

function isEitherType(anyOf: JsonValue | undefined): boolean {
  if (!Array.isArray(anyOf) || anyOf.length !== 2) return false;
  const types = anyOf.map((member: JsonValue) => (isOnlyTyped(member) ? member["type"] : undefined));
  return types[0] === "integer" && types[1] === "string";
}

const isOnlyTyped = (value: JsonValue): value is JsonObject => isJsonObject(value) && Object.keys(value).length === 1;
const extension = (name: string): string => `x-kubernetes-${name}`;
const isFilledList = (value: JsonValue | undefined): value is JsonValue[] => Array.isArray(value) && value.length > 0;

function copyIf(
  draft: Draft,
  { key, value }: { readonly key: string; readonly value: JsonValue | undefined },
  wanted: (value: JsonValue) => boolean,
): void {
  if (value !== undefined && wanted(value)) draft[key] = value;
}
