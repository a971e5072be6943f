// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, ownValue } from "@purlin/kube-objects/json";
import { objectAt, objectsAt, optionalObjectAt, stringAt, textsAt } from "@purlin/kube-objects/object";

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

/**
 * Fills in what the server fills in: the singular and list names, the conversion strategy, the webhook's port, and the version that
 * is stored where no version is marked as stored.
 */
export function withCrdDefaults(crd: JsonObject): JsonObject {
  const spec = optionalObjectAt(crd, ["spec"]);
  if (spec === undefined) return crd;
  const names = objectAt(spec, ["names"]);
  return {
    ...crd,
    spec: {
      ...spec,
      names: defaultNames(names),
      conversion: defaultConversion(optionalObjectAt(spec, ["conversion"])),
    },
    ...defaultStatus(crd, spec),
  };
}

function defaultStatus(crd: JsonObject, spec: JsonObject): { readonly status?: JsonObject } {
  const status = optionalObjectAt(crd, ["status"]);
  const storage = storageVersion(spec);
  if (status === undefined || storage === undefined || textsAt(status, ["storedVersions"]).length > 0) return {};
  return { status: { ...status, storedVersions: [storage] } };
}

/** The name of the version that objects are stored in. */
function storageVersion(spec: JsonObject): string | undefined {
  const storage = objectsAt(spec, ["versions"]).find((version) => version["storage"] === true);
  return storage && stringAt(storage, ["name"]);
}

function defaultNames(names: JsonObject): JsonObject {
  const kind = stringAt(names, ["kind"]);
  const filled: Record<string, JsonValue> = { ...names };
  if (stringAt(names, ["singular"]) === "" && kind !== "") filled["singular"] = kind.toLowerCase();
  if (stringAt(names, ["listKind"]) === "" && kind !== "") filled["listKind"] = `${kind}List`;
  return filled;
}

function defaultConversion(conversion: JsonObject | undefined): JsonObject {
  if (conversion === undefined || stringAt(conversion, ["strategy"]) === "") return { ...conversion, strategy: "None" };
  const webhook = optionalObjectAt(conversion, ["webhook"]);
  const clientConfig = webhook && optionalObjectAt(webhook, ["clientConfig"]);
  const service = clientConfig && optionalObjectAt(clientConfig, ["service"]);
  if (!isJsonObject(service) || service["port"] !== undefined) return conversion;
  return {
    ...conversion,
    webhook: { ...webhook, clientConfig: { ...clientConfig, service: { ...service, port: 443 } } },
  };
}

/** The status a CRD has when it is created: its storage version is the only one ever stored. */
export function initialCrdStatus(crd: JsonObject): JsonObject {
  const storage = storageVersion(objectAt(crd, ["spec"]));
  return {
    conditions: null,
    acceptedNames: { plural: "", kind: "" },
    storedVersions: storage === undefined ? null : [storage],
  };
}
