// SPDX-License-Identifier: Apache-2.0
import { status } from "@grpc/grpc-js";
import { Turns } from "@purlin/base";
import {
  create,
  Resource,
  type ResourceSelector,
  Resources,
  type RunFunctionRequest,
  type RunFunctionResponse,
  runUntilSettled,
  type Schema,
  type SchemaSelector,
  Struct,
} from "@purlin/function-protocol";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { formatApiVersion, type GroupVersionKind, parseApiVersion } from "@purlin/kube-objects/object";
import { defaultAnswerLimits, defaultMaxRequestBytes, raiseLimit } from "../answer/check-answer.ts";
import { functionFailure } from "../dial/rpc-failure.ts";
import {
  type FunctionRunner,
  type FunctionTarget,
  isRunnerError,
  type RunCall,
  RunnerError,
  wrapError,
} from "../function-runner.ts";
import type { KindScope, ResourceReader } from "./objects-reader.ts";

/** Answers schema selectors; an empty Schema means there is no such kind. */
export type FetchSchema = (selector: SchemaSelector) => Promise<Schema>;

/** Where the answers to a function's requirements come from. */
export interface RequirementFetchers {
  readonly resources: FetchResources;
  readonly schema: FetchSchema;
}

/**
 * A runner that gives functions what they ask for: it calls the next runner until two answers in a row ask for the same,
 * at most six times. The same selector is fetched once a step.
 */
export function settleRequirements(next: FunctionRunner, fetchers: RequirementFetchers): FunctionRunner {
  return {
    async run(target, request, call) {
      const { signal } = call;
      try {
        const { response, requests } = await runUntilSettled(request, {
          run: (current) => observed(next, target, { current, call }),
          source: {
            resources: (selector) => untilAborted(fetchers.resources(selector, signal), signal),
            schema: (selector) => untilAborted(fetchers.schema(selector), signal),
          },
          signal,
        });
        call.onSettled?.(requests.at(-1) ?? request);
        return response;
      } catch (error) {
        // A call that timed out just before the cancellation has the more precise error.
        if (!signal?.aborted || hasOwnStatus(error)) throw error;
        throw functionFailure(target, { code: status.CANCELLED, text: "the run was cancelled", cause: error });
      }
    },
  };
}

async function observed(
  next: FunctionRunner,
  target: FunctionTarget,
  { current, call }: { readonly current: RunFunctionRequest; readonly call: RunCall },
): Promise<RunFunctionResponse> {
  const answered = call.observer?.called(target, current);
  const response = await next.run(target, current, call);
  answered?.(response);
  return response;
}

/** Whether an error is the result of the call itself, not of its cancellation. */
function hasOwnStatus(error: unknown): boolean {
  return isRunnerError(error) && error.status !== undefined && error.status !== "Canceled";
}

/** The result of a read, or the reason of the signal if it aborts first: a read that ignores the signal must not hold the run. */
export async function untilAborted<T>(read: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return read;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([read, aborted]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** Answers resource selectors. */
type FetchResources = (selector: ResourceSelector, signal?: AbortSignal) => Promise<Resources>;

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

const known = new WeakMap<object, Struct>();
let encoded = 0;

/**
 * A Kubernetes object, or the input of a step, as functions get it. A frozen one is encoded once, however many steps,
 * rounds and reconciles send it: caches hand out the same object until it changes, so its identity stands for its content.
 */
export function observedStruct(object: object): Struct {
  const before = known.get(object);
  if (before !== undefined) return before;
  encoded++;
  const struct = Struct.rounded(object);
  if (Object.isFrozen(object)) known.set(object, struct);
  return struct;
}

/** How many objects {@link observedStruct} has encoded since the process started. */
export function observedStructsEncoded(): number {
  return encoded;
}
