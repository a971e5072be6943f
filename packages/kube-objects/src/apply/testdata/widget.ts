// SPDX-License-Identifier: Apache-2.0
// A custom resource with every kind of field there is, at two versions, for the tests of this folder.
import { readFileSync } from "node:fs";
import { parseJson } from "../../json/json-text.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/json-value.ts";
import { customResourceType, applyTypeOf } from "../apply-schema.ts";
import { deduced, type ApplyType } from "../apply-type.ts";
import type { ApplyVersions, TypedObject } from "../apply-versions.ts";
import { decodeFieldsV1 } from "../fields-v1.ts";
import type { OwnedFields } from "../managers.ts";
import { deepFreeze } from "../../object/kube-object.ts";

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

// A kind with two versions, for the tests of who owns which fields.
const type: ApplyType = applyTypeOf({
  type: "object",
  properties: {
    apiVersion: { type: "string" },
    a: { type: "string" },
    b: { type: "string" },
    map: { type: "object", additionalProperties: { type: "string" } },
    struct: { type: "object", properties: { x: { type: "string" }, y: { type: "string" } } },
    list: { type: "array", items: { type: "string" } },
  },
});

// At version v2, `a` is called `b` and the other way round.
const swap = ({ a, b, ...rest }: JsonObject): JsonObject => ({
  ...rest,
  ...(b !== undefined && { a: b }),
  ...(a !== undefined && { b: a }),
});
/** Versions v1 and v2. */
export const versions: ApplyVersions = {
  typeAt: (version) => (version === "v1" || version === "v2" ? type : undefined),
  convert: (object, version) =>
    version === "v1" || version === "v2" ? { ...swap(object), apiVersion: version } : undefined,
};

/** An object at v1. */
export const typed = (value: JsonObject): TypedObject => ({ type, value: deepFreeze({ apiVersion: "v1", ...value }) });
/** The fields of an applier, recorded at v1 by default. */
export const owns = (fields: JsonObject, more: Partial<OwnedFields> = {}): OwnedFields => ({
  set: decodeFieldsV1(fields),
  apiVersion: "v1",
  applied: true,
  ...more,
});
