// SPDX-License-Identifier: Apache-2.0
// A custom resource with every kind of field there is, at two versions, for the tests of this folder.
import { readFileSync } from "node:fs";
import { parseJson } from "../../json/json-text.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { customResourceType } from "../apply-schema.ts";
import { type ApplyType, deduced } from "../apply-type.ts";
import type { ApplyVersions } from "../apply-versions.ts";

type SchemaSet = Readonly<Record<string, JsonObject>>;

function typesOf(set: SchemaSet): ReadonlyMap<string, ApplyType> {
  return new Map(
    Object.entries(set).map(([version, schema]) => [`example.org/${version}`, customResourceType(schema)]),
  );
}

// Version v2 calls spec.replicas spec.count.
function convert(object: JsonObject, apiVersion: string): JsonObject | undefined {
  if (apiVersion !== "example.org/v1" && apiVersion !== "example.org/v2") return undefined;
  const spec = object["spec"];
  if (!isJsonObject(spec)) return { ...object, apiVersion };
  const name = apiVersion === "example.org/v2" ? "count" : "replicas";
  const renamed = Object.entries(spec).map(([key, value]): [string, JsonValue] => [
    key === "replicas" || key === "count" ? name : key,
    value,
  ]);
  return { ...object, apiVersion, spec: Object.fromEntries(renamed) };
}

const schemas = parseJson(readFileSync(new URL("./widget-schemas.json", import.meta.url), "utf8")) as Readonly<
  Record<"granular" | "atomic", SchemaSet>
>;
const granular = typesOf(schemas.granular);
const atomic = typesOf(schemas.atomic);

/** The widget as its schema describes it. */
export const widgetVersions: ApplyVersions = { typeAt: (apiVersion) => granular.get(apiVersion), convert };

/** The widget after its schema changed: what was granular is atomic, and the other way round. */
export const changedVersions: ApplyVersions = { typeAt: (apiVersion) => atomic.get(apiVersion), convert };

/** The widget without any schema. */
export const deducedVersions: ApplyVersions = {
  typeAt: (apiVersion) => (granular.has(apiVersion) ? deduced : undefined),
  convert,
};

/** Freezes a value and everything in it, so that changing it anywhere throws. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const child of Object.values(value)) deepFreeze(child);
  }
  return value;
}
