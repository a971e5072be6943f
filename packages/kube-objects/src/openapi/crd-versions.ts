// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue } from "../json/own-value.ts";
import { isNestedDeeperThan, maxNesting } from "../schema/nesting.ts";
import { OpenAPIError } from "./open-api-error.ts";

/** What a CustomResourceDefinition says about the kind it defines, in one served version. */
export interface CrdVersion {
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
