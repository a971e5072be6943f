// SPDX-License-Identifier: Apache-2.0
import { isExpired, isGone, isTooLargeResourceVersion, matchesLabels, parseLabelSelector } from "@purlin/kube-objects";
import { backoffDelay, type Sleep, sleep } from "./backoff.ts";
import type { KubeReader } from "./client.ts";
import { type KubeObject, keyOf, type ObjectKey, type TypeRef } from "./kube-object.ts";
import { type CacheChange, type IndexFunction, ObjectCache } from "./object-cache.ts";

/** Options of {@link startInformer}. */
export interface InformerOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Told when the server cannot be reached or refuses; the informer tries again by itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Waits; injected so that tests need not. */
  readonly sleep?: Sleep | undefined;
}

/** A local copy of all objects of one type, kept up to date by one watch. Its objects are frozen. */
export interface Informer {
  readonly type: TypeRef;
  get(key: ObjectKey): KubeObject | undefined;
  list(options?: {
    readonly namespace?: string | undefined;
    readonly labelSelector?: string | undefined;
  }): KubeObject[];
  /** Adds an index once; see {@link Informer.byIndex}. */
  addIndex(name: string, of: IndexFunction): void;
  byIndex(name: string, value: string): KubeObject[];
  /** Calls `handler` for every object held now, then for every change. Returns how to stop. */
  subscribe(handler: (change: CacheChange) => void): () => void;
  /** Resolves when the first list is in; rejects when the signal aborts or the informer stops. */
  synced(signal?: AbortSignal): Promise<void>;
  /** The newest resource version seen: reads are at least as new as this. */
  readonly resourceVersion: string;
  stop(): Promise<void>;
}

const pageSize = 500;
const watchSeconds = 300;

/** Starts an informer: list, then watch, and again from where it was whenever the watch ends. */
export function startInformer(client: KubeReader, type: TypeRef, options: InformerOptions = {}): Informer {
  const cache = new ObjectCache();
  const handlers = new Set<(change: CacheChange) => void>();
  const stopping = new AbortController();
  const { promise: firstList, resolve: listed, reject: neverListed } = Promise.withResolvers<void>();
  firstList.catch(() => {});
  const selection = {
    namespace: options.namespace,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    signal: stopping.signal,
  };
  const pause = options.sleep ?? sleep;
  let resourceVersion = "";

  function tell(change: CacheChange | undefined): void {
    if (change !== undefined) for (const handler of handlers) handler(change);
  }

  /** Lists page by page. A continue token that expired half-way starts the list again. */
  async function list(): Promise<void> {
    const objects: KubeObject[] = [];
    let next: string | undefined;
    let version = "";
    do {
      const page = await client.list(type, { ...selection, limit: pageSize, continue: next });
      objects.push(...page.items);
      next = page.continue;
      version = page.resourceVersion;
    } while (next !== undefined);
    for (const change of cache.replace(objects)) tell(change);
    resourceVersion = version;
    listed();
  }

  /** Follows one watch to its end and says whether it brought anything. */
  async function watch(): Promise<boolean> {
    let progress = false;
    const events = await client.watch(type, {
      ...selection,
      resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds: watchSeconds,
    });
    for await (const event of events) {
      progress = true;
      if (event.type === "BOOKMARK") {
        resourceVersion = event.resourceVersion;
        continue;
      }
      resourceVersion = event.object.metadata.resourceVersion ?? resourceVersion;
      tell(event.type === "DELETED" ? cache.remove(keyOf(event.object), event.object) : cache.put(event.object));
    }
    return progress;
  }

  async function run(): Promise<void> {
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        if (resourceVersion === "") await list();
        failures = (await watch()) ? 0 : 1;
      } catch (error) {
        if (stopping.signal.aborted) return;
        failures++;
        if (mustListAgain(error)) {
          resourceVersion = "";
          if (failures === 1) continue;
        }
        options.onError?.(error);
      }
      // A watch that brought something is opened again at once; a server that closes empty ones must not be hammered.
      if (failures > 0 && !stopping.signal.aborted) await pause(backoffDelay(failures - 1), stopping.signal);
    }
  }

  const running = run();
  return {
    type,
    get: (key) => cache.get(key),
    list: (filter = {}) => selectObjects(cache, filter),
    addIndex: (name, of) => cache.addIndex(name, of),
    byIndex: (name, value) => cache.byIndex(name, value),
    subscribe(handler) {
      for (const object of cache.values()) handler({ type: "added", object });
      handlers.add(handler);
      return () => handlers.delete(handler);
    },
    async synced(signal) {
      if (signal === undefined) return firstList;
      signal.throwIfAborted();
      const { promise, reject } = Promise.withResolvers<never>();
      const abort = (): void => reject(signal.reason);
      signal.addEventListener("abort", abort, { once: true });
      await Promise.race([firstList, promise]).finally(() => signal.removeEventListener("abort", abort));
    },
    get resourceVersion() {
      return resourceVersion;
    },
    async stop() {
      stopping.abort(new Error("the informer was stopped"));
      neverListed(stopping.signal.reason);
      await running;
    },
  };
}

/** The place we were at is no longer there: too old, or from before the server lost its data. */
function mustListAgain(error: unknown): boolean {
  return isExpired(error) || isGone(error) || isTooLargeResourceVersion(error);
}

function selectObjects(
  cache: ObjectCache,
  {
    namespace,
    labelSelector,
  }: { readonly namespace?: string | undefined; readonly labelSelector?: string | undefined },
): KubeObject[] {
  const selector = labelSelector === undefined ? undefined : parseLabelSelector(labelSelector);
  const selected: KubeObject[] = [];
  for (const object of cache.values()) {
    if (namespace !== undefined && object.metadata.namespace !== namespace) continue;
    if (selector === undefined || matchesLabels(selector, object.metadata.labels ?? {})) selected.push(object);
  }
  return selected;
}
