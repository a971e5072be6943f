// SPDX-License-Identifier: Apache-2.0
// A cluster that another release, or Crossplane itself, has been running on holds objects in versions and with fields that
// our CRDs do not know. Installing over them adds what is ours and takes nothing away.

import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { type KubeObject, objectAt } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";

/**
 * The CRD to store where `existing` is stored now: everything `wanted` says, and every version, field, column, name and
 * category that only `existing` has. Merging once more changes nothing.
 */
export function mergeCrd(existing: KubeObject, wanted: KubeObject): KubeObject {
  const had = specOf(existing);
  const want = specOf(wanted);
  const spec = {
    ...had,
    ...want,
    names: mergeNames(objectAt(had, ["names"]), objectAt(want, ["names"])),
    versions: mergeVersions(listAt(had, "versions"), listAt(want, "versions")),
    // The control plane that converted objects before no longer runs, so its webhook would not answer.
    conversion: { strategy: "None" },
  };
  const { labels, annotations } = wanted.metadata;
  return {
    ...existing,
    metadata: {
      ...existing.metadata,
      ...(labels && { labels: { ...existing.metadata.labels, ...labels } }),
      ...(annotations && { annotations: { ...existing.metadata.annotations, ...annotations } }),
    },
    spec,
  };
}

function specOf(crd: KubeObject): JsonObject {
  const { spec } = crd as { readonly spec?: JsonValue };
  return isJsonObject(spec) ? spec : {};
}

function mergeNames(had: JsonObject, want: JsonObject): JsonObject {
  const lists = ["shortNames", "categories"].flatMap((key) => {
    const union = [...new Set([...listAt(want, key), ...listAt(had, key)])];
    return union.length > 0 ? [[key, union] as const] : [];
  });
  return { ...had, ...want, ...Object.fromEntries(lists) };
}

function mergeVersions(had: readonly JsonValue[], want: readonly JsonValue[]): readonly JsonObject[] {
  const wanted = new Map(want.filter(isJsonObject).map((version) => [version["name"], version]));
  const known = had.filter(isJsonObject);
  const kept = known.map((version) => {
    const ours = wanted.get(version["name"]);
    wanted.delete(version["name"]);
    return ours === undefined ? version : mergeVersion(version, ours);
  });
  const all = [...kept, ...wanted.values()];
  return withOneStorage(all, storageOf(known, want.filter(isJsonObject)));
}

/** A version we do not know may hold fields that ours would prune, so it stays the stored one. */
function storageOf(had: readonly JsonObject[], want: readonly JsonObject[]): JsonValue | undefined {
  const nameOfStored = (versions: readonly JsonObject[]): JsonValue | undefined =>
    versions.find(({ storage }) => storage === true)?.["name"];
  const stored = nameOfStored(had);
  const isOurs = want.some(({ name }) => name === stored);
  return stored === undefined || isOurs ? nameOfStored(want) : stored;
}

function withOneStorage(versions: readonly JsonObject[], name: JsonValue | undefined): readonly JsonObject[] {
  return versions.map((version) => ({ ...version, storage: version["name"] === name }));
}

function mergeVersion(had: JsonObject, want: JsonObject): JsonObject {
  const rootOf = (version: JsonObject): Schema => objectAt(version, ["schema", "openAPIV3Schema"]);
  const subresources = { ...objectAt(had, ["subresources"]), ...objectAt(want, ["subresources"]) };
  return {
    ...had,
    ...want,
    schema: { openAPIV3Schema: mergeSchema(rootOf(had), rootOf(want)) },
    ...(Object.keys(subresources).length > 0 && { subresources }),
    additionalPrinterColumns: mergeColumns(
      listAt(had, "additionalPrinterColumns"),
      listAt(want, "additionalPrinterColumns"),
    ),
  };
}

function mergeColumns(had: readonly JsonValue[], want: readonly JsonValue[]): readonly JsonValue[] {
  const nameOf = (column: JsonValue): JsonValue | undefined => (isJsonObject(column) ? column["name"] : undefined);
  const ours = new Set(want.map(nameOf));
  return [...want, ...had.filter((column) => !ours.has(nameOf(column)))];
}

const preserve = "x-kubernetes-preserve-unknown-fields";

/** What ours says about a field holds; fields only the other one has stay as they are, whole. */
function mergeSchema(had: Schema, want: Schema): Schema {
  if (had["type"] !== want["type"]) return want;
  const merged: Record<string, JsonValue> = { ...want };
  const { description } = had;
  // Only words: another control plane's are as good, and replacing them would write every CRD at each take-over.
  if (description !== undefined) merged["description"] = description;
  if (had[preserve] === true && want["additionalProperties"] === undefined) merged[preserve] = true;
  for (const key of ["items", "additionalProperties"] as const) {
    const [left, right] = [had[key], want[key]];
    if (isJsonObject(left) && isJsonObject(right)) merged[key] = mergeSchema(left, right);
  }
  // A schema has either named fields or a map of any.
  const hasNamedFields = want["additionalProperties"] === undefined;
  if (hasNamedFields && isJsonObject(had["properties"])) {
    merged["properties"] = mergeProperties(had["properties"], objectAt(want, ["properties"]));
  }
  return merged;
}

function mergeProperties(had: JsonObject, want: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(want), ...Object.keys(had)])];
  return Object.fromEntries(
    names.map((name) => {
      const [left, right] = [had[name], want[name]];
      const isBoth = isJsonObject(left) && isJsonObject(right);
      return [name, isBoth ? mergeSchema(left, right) : ((right ?? left) as JsonValue)];
    }),
  );
}

function listAt(object: JsonObject, key: string): readonly JsonValue[] {
  const value = object[key];
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}
