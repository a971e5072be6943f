// SPDX-License-Identifier: Apache-2.0
import { findStatusError, isNotFound } from "@purlin/kube-objects/errors";
import type { JsonValue } from "@purlin/kube-objects/json";
import {
  deepFreeze,
  type KubeList,
  type KubeObject,
  keyOf,
  type ObjectKey,
  type TypeRef,
  type WatchEvent,
} from "@purlin/kube-objects/object";
import { createRestMapper, NoMatchError, type RestMapper, resourcePath } from "./rest-mapper.ts";
import { type KubeRequest, type KubeTransport, readWatchEvents } from "./transport.ts";

/** What every call accepts. */
export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** Options of a read of several objects. */
export interface ListOptions extends CallOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan" | undefined;
}

/** Options of a watch. */
export interface WatchOptions extends Omit<ListOptions, "limit" | "continue"> {
  readonly allowWatchBookmarks?: boolean | undefined;
  readonly sendInitialEvents?: boolean | undefined;
  readonly timeoutSeconds?: number | undefined;
}

/** Options of a write. */
export interface WriteOptions extends CallOptions {
  readonly fieldManager?: string | undefined;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict" | undefined;
  readonly dryRun?: boolean | undefined;
  readonly subresource?: string | undefined;
}

/** The kinds of patch, by content type. */
export const patchTypes = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Options of a patch. */
export interface PatchOptions extends WriteOptions {
  readonly type: Exclude<keyof typeof patchTypes, "apply">;
}

/** Options of a server-side apply. */
export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  readonly force?: boolean | undefined;
}

/** Options of a delete. */
export interface DeleteOptions extends CallOptions {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground" | undefined;
  /** How long a Pod may take to end; 0 removes it at once. The server decides unless given. */
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

/** Reads objects. Failures the server answered are StatusErrors; an unserved type is a NoMatchError. */
export interface KubeReader {
  get(type: TypeRef, key: ObjectKey, options?: CallOptions): Promise<KubeObject>;
  list(type: TypeRef, options?: ListOptions): Promise<KubeList>;
  /** Opens a watch; it ends when the server ends it. For one that continues, see the informer. */
  watch(type: TypeRef, options?: WatchOptions): Promise<AsyncIterable<WatchEvent>>;
}

/** Writes objects. Each call returns the object as the server stored it, frozen. */
export interface KubeWriter {
  create(object: KubeObject, options?: WriteOptions): Promise<KubeObject>;
  update(object: KubeObject, options?: WriteOptions): Promise<KubeObject>;
  patch(type: TypeRef & ObjectKey, patch: JsonValue, options: PatchOptions): Promise<KubeObject>;
  apply(object: KubeObject, options: ApplyOptions): Promise<KubeObject>;
  /** The object as it is now, when something holds it: finalizers, or a time to end in. Undefined when it has gone. */
  delete(type: TypeRef & ObjectKey, options?: DeleteOptions): Promise<KubeObject | undefined>;
  deleteCollection(type: TypeRef, options?: ListOptions & DeleteOptions): Promise<void>;
}

/** A client of one API server, whichever way it is reached. */
export interface KubeClient extends KubeReader, KubeWriter {
  readonly mapper: RestMapper;
  /** A request to any path, for what is not an object: discovery, OpenAPI, version. */
  raw(request: KubeRequest): Promise<JsonValue>;
  /** A watch of any path, in the form that the request accepts; each value is an event as the server sent it. */
  rawWatch(request: KubeRequest): Promise<AsyncIterable<JsonValue>>;
  close(): Promise<void>;
}

/** Makes a client. `onWarning` gets each Warning header the server sends. */
export function createKubeClient(
  transport: KubeTransport,
  { onWarning }: { readonly onWarning?: (text: string) => void } = {},
): KubeClient {
  const mapper = createRestMapper(transport);

  async function send(request: KubeRequest): Promise<JsonValue> {
    const { body, warnings } = await transport.request(request);
    if (onWarning) for (const warning of warnings) onWarning(warning);
    return deepFreeze(body);
  }

  async function pathOf(type: TypeRef, key?: Partial<ObjectKey>, options?: WriteOptions): Promise<string> {
    const path = resourcePath(await mapper.mapping(type, options?.signal), key);
    return options?.subresource === undefined ? path : `${path}/${options.subresource}`;
  }

  async function write(
    method: KubeRequest["method"],
    object: KubeObject,
    options: WriteOptions & {
      readonly force?: boolean | undefined;
      readonly contentType?: string;
      readonly body?: JsonValue;
    },
  ): Promise<KubeObject> {
    const { name, namespace } = keyOf(object);
    const key = method === "POST" && options.subresource === undefined ? { namespace } : { namespace, name };
    const path = await pathOf(object, key, options);
    const request = {
      method,
      path,
      query: writeQuery(options),
      body: options.body ?? object,
      signal: options.signal,
    };
    const { contentType } = options;
    const sent = send(contentType === undefined ? request : { ...request, contentType });
    return (await ofObject(object, sent)) as KubeObject;
  }

  /** The 404 of a path that is no longer served names no object: the type was removed, or is served under another path now. */
  function ofObject<T>({ apiVersion }: TypeRef, sent: Promise<T>): Promise<T> {
    return sent.catch((error: unknown) => {
      if (isNotFound(error) && findStatusError(error)?.status.details?.name === undefined) mapper.forget(apiVersion);
      throw error;
    });
  }

  /** A collection that is not found is one of a type that is no longer served. */
  function ofCollection<T>(type: TypeRef, sent: Promise<T>): Promise<T> {
    return sent.catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      mapper.forget(type.apiVersion);
      throw new NoMatchError(type, { cause: error });
    });
  }

  return {
    mapper,
    raw: send,
    rawWatch: (request) => transport.stream({ ...request, query: { ...request.query, watch: "true" } }),
    close: () => transport.close(),
    async get(type, key, options = {}) {
      const path = await pathOf(type, key, options);
      const sent = send({ method: "GET", path, signal: options.signal });
      return (await ofObject(type, sent)) as KubeObject;
    },
    async list(type, options = {}) {
      const path = await pathOf(type, { namespace: options.namespace }, options);
      const sent = send({ method: "GET", path, query: listQuery(options), signal: options.signal });
      return toList(type, await ofCollection(type, sent));
    },
    async watch(type, options = {}) {
      const path = await pathOf(type, { namespace: options.namespace }, options);
      const query = { ...listQuery(options), ...watchQuery(options) };
      const opened = transport.stream({ method: "GET", path, query, signal: options.signal });
      return readWatchEvents(await ofCollection(type, opened));
    },
    create: (object, options = {}) => write("POST", object, options),
    update: (object, options = {}) => write("PUT", object, options),
    apply: (object, options) => write("PATCH", object, { ...options, contentType: patchTypes.apply }),
    patch: (type, patch, { type: kind, ...options }) =>
      write("PATCH", asObject(type), { ...options, contentType: patchTypes[kind], body: patch }),
    async delete(type, options = {}) {
      // Without a name the path is that of the collection, and everything in it would go.
      if (!type.name) throw new Error(`cannot delete a ${type.kind} without a name`);
      const path = await pathOf(type, type, options);
      const sent = send({ method: "DELETE", path, body: deleteBody(options), signal: options.signal });
      return heldObject(await ofObject(type, sent));
    },
    async deleteCollection(type, options = {}) {
      const path = await pathOf(type, { namespace: options.namespace }, options);
      await send({
        method: "DELETE",
        path,
        query: listQuery(options),
        body: deleteBody(options),
        signal: options.signal,
      });
    },
  };
}

function asObject({ apiVersion, kind, name, namespace }: TypeRef & ObjectKey): KubeObject {
  return { apiVersion, kind, metadata: namespace === undefined ? { name } : { name, namespace } };
}

type ListBody = {
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items?: readonly KubeObject[] | null;
};

/** Items of a built-in list have no apiVersion and kind, which callers need. */
function toList({ apiVersion, kind }: TypeRef, body: JsonValue): KubeList {
  const { metadata = {}, items } = body as ListBody;
  return {
    items: (items ?? []).map((item) => (item.kind ? item : Object.freeze({ ...item, apiVersion, kind }))),
    resourceVersion: metadata.resourceVersion ?? "",
    continue: metadata.continue || undefined,
    remainingItemCount: metadata.remainingItemCount,
  };
}

type Query = Record<string, string>;

function listQuery(options: ListOptions): Query {
  return defined({
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    limit: options.limit?.toString(),
    continue: options.continue,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
  });
}

function watchQuery(options: WatchOptions): Query {
  return defined({
    watch: "true",
    allowWatchBookmarks: options.allowWatchBookmarks?.toString(),
    sendInitialEvents: options.sendInitialEvents?.toString(),
    timeoutSeconds: options.timeoutSeconds?.toString(),
  });
}

function writeQuery(options: WriteOptions & { readonly force?: boolean | undefined }): Query {
  return defined({
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    dryRun: options.dryRun ? "All" : undefined,
    force: options.force?.toString(),
  });
}

/** A delete is answered with the object while it stays, and with a Status, or the object as it was, once it went. */
function heldObject(answer: JsonValue): KubeObject | undefined {
  const object = answer as KubeObject;
  const { deletionTimestamp, deletionGracePeriodSeconds, finalizers } = object.metadata ?? {};
  if (!deletionTimestamp) return undefined;
  // A namespace is kept by its spec: both are left out.
  return (finalizers ?? []).length > 0 || deletionGracePeriodSeconds !== 0 ? object : undefined;
}

function deleteBody({ preconditions, propagationPolicy, gracePeriodSeconds, dryRun }: DeleteOptions): JsonValue {
  return {
    apiVersion: "v1",
    kind: "DeleteOptions",
    ...(preconditions && { preconditions }),
    ...(propagationPolicy && { propagationPolicy }),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(dryRun && { dryRun: ["All"] }),
  };
}

function defined(query: Record<string, string | undefined>): Query {
  return Object.fromEntries(Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined));
}
