// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import { create, Resource, type ResourceSelector, Resources } from "@purlin/function-protocol";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { formatApiVersion, type GroupVersionKind, parseApiVersion } from "@purlin/kube-objects/object";
import { defaultAnswerLimits, defaultMaxRequestBytes, raiseLimit } from "../answer/answer-limits.ts";
import { RunnerError, wrapError } from "../runner-error.ts";
import { observedStruct } from "./observed-struct.ts";
import type { KindScope, ResourceReader } from "./resource-reader.ts";

/** Answers resource selectors. */
export type FetchResources = (selector: ResourceSelector, signal?: AbortSignal) => Promise<Resources>;

/** How much one selector may select. */
export interface FetchLimits {
  /** Default {@link AnswerLimits.selectedObjects}. */
  readonly selectedObjects?: number | undefined;
  /** All that is selected travels in one request. Default 64 MiB. */
  readonly bytes?: number | undefined;
}

type Bounds = Readonly<Record<keyof FetchLimits, number>>;

const defaultFetchLimits: Bounds = {
  selectedObjects: defaultAnswerLimits.selectedObjects,
  bytes: defaultMaxRequestBytes,
};

interface Query {
  readonly gvk: GroupVersionKind;
  readonly scope: KindScope;
  readonly namespace: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly limit?: number | undefined;
}

/**
 * Answers resource selectors from a reader: by name one object or none, by labels or without a match a list in the order
 * of `namespace/name`. What does not exist is an empty answer; a kind that does not exist, a read that fails, or a selector that
 * selects more than the limits allow, rejects.
 */
export function createResourceFetcher(reader: ResourceReader, limits: FetchLimits = {}): FetchResources {
  const { selectedObjects = defaultFetchLimits.selectedObjects, bytes = defaultFetchLimits.bytes } = limits;
  const bounds = { selectedObjects, bytes };
  return async (selector, signal) => {
    const query = await understand(reader, selector, signal);
    const { match } = selector;
    if (match?.case === "matchName") return resourcesOf(await getByName(reader, query, match.value), bounds);
    const labels = match?.case === "matchLabels" ? match.value.labels : new Map<string, string>();
    return resourcesOf(await list(reader, { ...query, limit: bounds.selectedObjects + 1 }, labels), bounds);
  };
}

async function understand(reader: ResourceReader, selector: ResourceSelector, signal?: AbortSignal): Promise<Query> {
  const { apiVersion, kind } = selector;
  if (apiVersion === "" || kind === "") {
    throw new RunnerError("FETCH", `a selector needs apiVersion and kind, not "${apiVersion}" and "${kind}"`);
  }
  const gvk = { ...parseApiVersion(apiVersion), kind };
  const scope = await reader.scopeOf(gvk, signal);
  if (scope === undefined) {
    throw new RunnerError("FETCH", `no matches for kind "${kind}" in version "${formatApiVersion(gvk)}"`);
  }
  // A namespace means nothing to a cluster-scoped kind, and an empty one means none.
  const namespace = scope === "Cluster" ? undefined : selector.namespace || undefined;
  return { gvk, scope, namespace, signal };
}

async function getByName(
  reader: ResourceReader,
  { gvk, scope, namespace, signal }: Query,
  name: string,
): Promise<readonly JsonObject[]> {
  // Nothing lives outside a namespace, and no server is asked to find nothing.
  if (scope === "Namespaced" && namespace === undefined) return [];
  try {
    const object = await reader.get(gvk, { namespace, name, signal });
    return object === undefined ? [] : [object];
  } catch (error) {
    throw wrapError("FETCH", "cannot get required resource by name", error);
  }
}

async function list(
  reader: ResourceReader,
  { gvk, namespace, signal, limit = Number.POSITIVE_INFINITY }: Query,
  labels: ReadonlyMap<string, string>,
): Promise<readonly JsonObject[]> {
  try {
    const objects = await reader.list(gvk, { namespace, labels, signal, limit });
    // The caller refuses them.
    if (objects.length >= limit) return objects;
    return objects
      .map((object) => ({ object, key: sortKey(object) }))
      .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
      .map(({ object }) => object);
  } catch (error) {
    throw wrapError("FETCH", "cannot list required resources", error);
  }
}

function sortKey({ metadata }: JsonObject): string {
  if (!isJsonObject(metadata)) return "/";
  return `${metadata["namespace"] ?? ""}/${metadata["name"] ?? ""}`;
}

async function resourcesOf(
  objects: readonly JsonObject[],
  { selectedObjects, bytes: maxBytes }: Bounds,
): Promise<Resources> {
  if (objects.length > selectedObjects) throw tooMany(`more than ${selectedObjects} objects`, selectedObjects);
  const items: Resource[] = [];
  const turns = new Turns();
  let bytes = 0;
  for (const object of objects) {
    const resource = observedStruct(object);
    bytes += resource.bytes.length;
    if (bytes > maxBytes) throw tooMany(`more than ${maxBytes} bytes`, selectedObjects);
    items.push(create(Resource, { resource }));
    if (turns.isOver) await turns.next();
  }
  return create(Resources, { items });
}

function tooMany(what: string, limit: number): RunnerError {
  const text = `the selector selects ${what} (limit selectedObjects=${limit})`;
  return new RunnerError("FETCH", `${text}: select fewer by labels, name or namespace, or ${raiseLimit}`);
}
