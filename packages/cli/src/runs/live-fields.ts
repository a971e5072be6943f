// SPDX-License-Identifier: Apache-2.0

import { crossplaneAnnotations } from "@purlin/composition";
import { referencesOf } from "@purlin/explain";
import type { KubeReader } from "@purlin/kube-client";
import { ignoreNotFound } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, type JsonValue, jsonEqual, printJson } from "@purlin/kube-objects/json";
import { annotationOf, type KubeObject, type ManagedFieldsEntry } from "@purlin/kube-objects/object";
import { childrenOf, desiredObjects, lastCall, leavesOf, type Run } from "@purlin/run-store";

/** A field of a composed resource on the API server that no step set, or that differs from what the steps want. */
export interface LiveField {
  readonly resource: string;
  readonly path: string;
  readonly value: JsonValue;
  /** Who owns the field: the engine, the API server, or a field manager. */
  readonly owner: string;
  /** What the pipeline wants there; undefined where it wants nothing. */
  readonly desired?: JsonValue | undefined;
}

const { resourceName } = crossplaneAnnotations;
const composedManager = "apiextensions.crossplane.io/composed";
/** Fields that every write changes, or that are not part of what a resource should be. */
const ignored =
  /^(?:status|metadata\.(?:managedFields|resourceVersion|uid|generation|creationTimestamp|selfLink))(?:[.[]|$)/;
const ofEngine =
  /^(?:metadata\.(?:name|namespace|generateName|ownerReferences|labels\[crossplane\.io\/|annotations\[crossplane\.io\/))/;

interface LiveQuery {
  readonly resource: string | undefined;
  readonly signal: AbortSignal;
}

/** The fields of live composed resources that the steps of a run do not explain. */
export async function liveFields(client: KubeReader, run: Run, query: LiveQuery): Promise<readonly LiveField[]> {
  const { xr, steps } = run;
  const last = steps.at(-1);
  const desired = desiredObjects(last && lastCall(last)?.response?.desired);
  const { signal } = query;
  const composite = await client.get(xr, { namespace: xr.namespace, name: xr.name }, { signal });
  const fields: LiveField[] = [];
  for (const { apiVersion, kind, namespace = xr.namespace, name = "" } of referencesOf(composite)) {
    const object = await ignoreNotFound(client.get({ apiVersion, kind }, { namespace, name }, { signal }));
    const resource = object && annotationOf(object, resourceName);
    if (object === undefined || resource === undefined) continue;
    if (query.resource !== undefined && query.resource !== resource) continue;
    fields.push(...unexplained(resource, object, desired.get(resource) ?? {}));
  }
  return fields;
}

function unexplained(resource: string, object: KubeObject, desired: JsonObject): readonly LiveField[] {
  const owners = ownersOf(object);
  const wanted = leavesOf(desired);
  return [...leavesOf(object as JsonObject)].flatMap(([path, value]) => {
    if (ignored.test(path)) return [];
    const want = wanted.get(path);
    if (want !== undefined && (jsonEqual(want, value) || isRedacted(want))) return [];
    const owner = ofEngine.test(path) ? "engine" : (owners.get(path) ?? "API server default");
    return [
      { resource, path, value: hidden(object, path, value), owner, ...(want !== undefined && { desired: want }) },
    ];
  });
}

function isRedacted(value: JsonValue): boolean {
  return typeof value === "string" && value.startsWith("**REDACTED");
}

function hidden({ apiVersion, kind }: KubeObject, path: string, value: JsonValue): JsonValue {
  const isSecret = apiVersion === "v1" && kind === "Secret" && /^(?:data|stringData)\b/.test(path);
  return isSecret || path.includes("last-applied") ? "(sensitive)" : value;
}

/** The manager of each field, with the time of its last write. */
function ownersOf(object: KubeObject): ReadonlyMap<string, string> {
  const owners = new Map<string, string>();
  for (const entry of object.metadata.managedFields ?? []) {
    for (const path of pathsOf(entry.fieldsV1 ?? {}, object as JsonObject, "")) {
      const known = owners.get(path);
      owners.set(path, known === undefined ? ownerText(entry) : `${known}, ${ownerText(entry)}`);
    }
  }
  return owners;
}

function ownerText({ manager = "", time }: ManagedFieldsEntry): string {
  const name = manager.startsWith(composedManager) ? "engine" : manager;
  return time === undefined ? name : `${name} at ${time}`;
}

/** The paths of the leaves that a field set covers. */
function pathsOf(fields: JsonObject, value: JsonValue, path: string): readonly string[] {
  const inner = Object.entries(fields).filter(([key]) => key !== ".");
  if (inner.length === 0) return [...leavesOf(value, path).keys()];
  const children = childrenOf(value, path);
  return inner.flatMap(([key, below]) => {
    const child = childFor(key, value, children);
    return child === undefined || !isJsonObject(below) ? [] : pathsOf(below, child.value, child.path);
  });
}

function childFor(
  key: string,
  value: JsonValue,
  children: ReturnType<typeof childrenOf>,
): ReturnType<typeof childrenOf>[number] | undefined {
  const [kind, rest] = [key.slice(0, 2), key.slice(2)];
  if (kind === "f:") return children.find((child) => isJsonObject(value) && child.value === value[rest]);
  if (kind === "i:") return children[Number(rest)];
  if (kind === "v:") return children.find((child) => printJson(child.value) === rest);
  if (kind !== "k:") return undefined;
  const keys = JSON.parse(rest) as JsonObject;
  return children.find(
    ({ value: item }) => isJsonObject(item) && Object.entries(keys).every(([name, one]) => item[name] === one),
  );
}
