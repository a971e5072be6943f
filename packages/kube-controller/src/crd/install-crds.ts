// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { isServed, type KubeClient } from "@purlin/kube-client";
import { isAlreadyExists, isConflict, isNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, objectAt, type TypeRef } from "@purlin/kube-objects/object";
import type { Schema } from "@purlin/kube-objects/schema";
import { toTypedForm } from "@purlin/kube-objects/typed";
import { crdType, isEstablished, refusalOf } from "./crd.ts";

/** The progress of one CRD. */
export interface InstallProgress {
  readonly name: string;
  readonly what: "created" | "updated" | "unchanged" | "established";
  /** How many are established so far, of how many. */
  readonly established: number;
  readonly total: number;
}

/** Options of {@link installCrds}. */
interface InstallOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: InstallProgress) => void) | undefined;
  /** How long a CRD may take to be established. Default: a minute. */
  readonly timeoutMs?: number | undefined;
}

/**
 * Makes the API server serve these CRDs and waits until it does. A CRD that exists keeps every version, field, column and
 * name it has and gets what it lacks; nothing is written when it lacks nothing. Rejects with the name of the CRD that the
 * server refuses, or does not establish in time.
 */
export async function installCrds(
  client: KubeClient,
  crds: readonly KubeObject[],
  options: InstallOptions = {},
): Promise<void> {
  const { onProgress = () => {}, timeoutMs = 60_000 } = options;
  const deadline = AbortSignal.timeout(timeoutMs);
  const failed = new AbortController();
  const signal = AbortSignal.any([deadline, failed.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const total = crds.length;
  let established = 0;
  const install = async (crd: KubeObject): Promise<void> => {
    const { name } = keyOf(crd);
    const { what, stored } = await store(client, crd, signal);
    onProgress({ name, what, established, total });
    await untilEstablished(client, stored, signal);
    await untilServed(client, servedTypes(stored), signal);
    established += 1;
    onProgress({ name, what: "established", established, total });
  };
  const installOrStop = async (crd: KubeObject): Promise<void> => {
    try {
      await install(crd);
    } catch (error) {
      failed.abort(error);
      throw failureOf(crd, error, deadline.aborted);
    }
  };
  await Promise.all(crds.map(installOrStop));
}

function failureOf(crd: KubeObject, error: unknown, isLate: boolean): Error {
  const cause = error instanceof Error ? error.message : String(error);
  const text = isLate ? "the API server has not established it in time" : cause;
  return new Error(`cannot install CustomResourceDefinition "${keyOf(crd).name}": ${text}`, { cause: error });
}

interface Stored {
  readonly what: "created" | "updated" | "unchanged";
  readonly stored: KubeObject;
}

/** Another replica may be installing at the same moment: a conflict is retried. */
async function store(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<Stored> {
  for (;;) {
    signal.throwIfAborted();
    try {
      return await createOrUpdate(client, crd, signal);
    } catch (error) {
      if (!isConflict(error) && !isAlreadyExists(error) && !isNotFound(error)) throw error;
    }
  }
}

async function createOrUpdate(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<Stored> {
  const existing = await getOrNothing(client, crd, signal);
  if (existing === undefined) return { what: "created", stored: await client.create(crd, { signal }) };
  const merged = mergeCrd(existing, crd);
  if (isSame(existing, merged)) return { what: "unchanged", stored: existing };
  return { what: "updated", stored: await client.update(merged, { signal }) };
}

/** Whether the server would store the one where the other is: what its types leave out does not count. */
function isSame(a: KubeObject, b: KubeObject): boolean {
  const asStored = (crd: KubeObject): JsonValue => toTypedForm(crd).object;
  return jsonEqual(asStored(a), asStored(b));
}

async function getOrNothing(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<KubeObject | undefined> {
  try {
    return await client.get(crdType, keyOf(crd), { signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Follows one CRD until it is established; the server may end a watch at any time. */
async function untilEstablished(client: KubeClient, stored: KubeObject, signal: AbortSignal): Promise<void> {
  let crd = stored;
  while (!isEstablished(crd)) {
    const refusal = refusalOf(crd);
    if (refusal !== undefined) throw new Error(refusal);
    crd = await nextVersion(client, crd, signal);
  }
}

async function nextVersion(client: KubeClient, crd: KubeObject, signal: AbortSignal): Promise<KubeObject> {
  const fieldSelector = `metadata.name=${keyOf(crd).name}`;
  const { resourceVersion } = crd.metadata;
  const events = await client.watch(crdType, { fieldSelector, resourceVersion, signal });
  for await (const event of events) {
    if (event.type === "DELETED") throw new Error("it was deleted while being installed");
    if (event.type !== "BOOKMARK") return event.object;
  }
  signal.throwIfAborted();
  return client.get(crdType, keyOf(crd), { signal });
}

type CrdSpec = {
  readonly group: string;
  readonly names: { readonly kind: string };
  readonly versions: readonly { readonly name: string; readonly served: boolean }[];
};

function servedTypes(crd: KubeObject): TypeRef[] {
  const { group, names, versions } = crd["spec"] as CrdSpec;
  return versions
    .filter(({ served }) => served)
    .map(({ name }) => ({ apiVersion: `${group}/${name}`, kind: names.kind }));
}

const discoveryPauseMs = 50;

/** A CRD is established a moment before discovery lists its kind, and clients rely on discovery. */
async function untilServed(client: KubeClient, types: readonly TypeRef[], signal: AbortSignal): Promise<void> {
  for (const type of types) {
    while (!(await isServed(client.mapper, type, signal))) await delay(discoveryPauseMs, undefined, { signal });
  }
}

// A cluster that another release, or Crossplane itself, has been running on holds objects in versions and with fields that
// our CRDs do not know. Installing over them adds what is ours and takes nothing away.

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
