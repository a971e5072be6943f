// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type JsonValue, jsonEqual, ownValue } from "@purlin/kube-objects/json";
import { objectAt, objectsAt, optionalObjectAt, stringAt } from "@purlin/kube-objects/object";

/** One version of a CRD's spec, with what stands for its members in messages. */
export interface CrdVersionSpec {
  readonly json: JsonObject;
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly deprecated: boolean;
  readonly deprecationWarning: string | undefined;
  readonly schema: JsonObject | undefined;
  readonly subresources: JsonObject | undefined;
  readonly columns: readonly JsonObject[];
  readonly selectableFields: readonly JsonObject[];
}

/**
 * A CRD's spec as the reference server holds it in memory: what all versions have in common stands at the top, and
 * messages about it say so.
 */
export interface CrdSpec {
  readonly json: JsonObject;
  readonly group: string;
  readonly scope: string;
  readonly names: JsonObject;
  readonly versions: readonly CrdVersionSpec[];
  readonly conversion: JsonObject | undefined;
  readonly preserveUnknownFields: boolean;
  /** Members that every version has, all the same. */
  readonly common: Pick<CrdVersionSpec, "schema" | "subresources" | "columns" | "selectableFields">;
}

/** Reads the spec of a CRD. Members of a wrong type count as absent; the decoder has refused them before. */
export function crdSpec(crd: JsonObject): CrdSpec {
  const json = objectAt(crd, ["spec"]);
  const written = objectsAt(json, ["versions"]).map(versionSpec);
  const common = {
    schema: sameIn(written, (version) => version.schema),
    subresources: sameIn(written, (version) => version.subresources),
    columns: sameIn(written, (version) => version.columns) ?? [],
    selectableFields: sameIn(written, (version) => version.selectableFields) ?? [],
  };
  const versions = written.map((version) => ({
    ...version,
    schema: common.schema === undefined ? version.schema : undefined,
    subresources: common.subresources === undefined ? version.subresources : undefined,
    columns: common.columns.length === 0 ? version.columns : [],
    selectableFields: common.selectableFields.length === 0 ? version.selectableFields : [],
  }));
  return {
    json,
    group: stringAt(json, ["group"]),
    scope: stringAt(json, ["scope"]),
    names: objectAt(json, ["names"]),
    versions,
    conversion: optionalObjectAt(json, ["conversion"]),
    preserveUnknownFields: ownValue(json, "preserveUnknownFields") === true,
    common,
  };
}

function versionSpec(json: JsonObject): CrdVersionSpec {
  const warning = ownValue(json, "deprecationWarning");
  return {
    json,
    name: stringAt(json, ["name"]),
    served: ownValue(json, "served") === true,
    storage: ownValue(json, "storage") === true,
    deprecated: ownValue(json, "deprecated") === true,
    deprecationWarning: typeof warning === "string" ? warning : undefined,
    schema: optionalObjectAt(json, ["schema", "openAPIV3Schema"]),
    subresources: optionalObjectAt(json, ["subresources"]),
    columns: objectsAt(json, ["additionalPrinterColumns"]),
    selectableFields: objectsAt(json, ["selectableFields"]),
  };
}

function sameIn<T extends JsonValue | readonly JsonObject[]>(
  versions: readonly CrdVersionSpec[],
  member: (version: CrdVersionSpec) => T | undefined,
): T | undefined {
  const [first, ...rest] = versions;
  const value = first === undefined ? undefined : member(first);
  if (value === undefined) return undefined;
  return rest.every((version) => jsonEqual((member(version) ?? null) as JsonValue, value as JsonValue))
    ? value
    : undefined;
}
