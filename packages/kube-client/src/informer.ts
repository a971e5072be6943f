// SPDX-License-Identifier: Apache-2.0
import { setTimeout as delay } from "node:timers/promises";
import { type AwaitingWork, inTurns, type Work } from "@purlin/base";
import { isExpired, isGone, isTooLargeResourceVersion, isTooManyRequests } from "@purlin/kube-objects/errors";
import {
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type TypeRef,
  type WatchEvent,
} from "@purlin/kube-objects/object";
import { matchesLabels, parseLabelSelector } from "@purlin/kube-objects/selector";
import type { KubeReader, ListOptions } from "./client.ts";
import { type CacheChange, type IndexFunction, ObjectCache } from "./object-cache.ts";
import { isNoMatch } from "./rest-mapper.ts";

/** Options of {@link startInformer}. */
export interface InformerOptions {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
  /** Makes what is kept of an object, such as its metadata only. Default: all of it. */
  readonly transform?: ((object: KubeObject) => KubeObject) | undefined;
  /** Called when the server is unreachable or refuses; the informer retries by itself. */
  readonly onError?: ((error: unknown, type: TypeRef) => void) | undefined;
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
  /** The objects that an index has under all of these values. */
  byIndex(name: string, ...values: readonly [string, ...string[]]): KubeObject[];
  /**
   * Calls `handler` for every object held now, then for every change. Returns how to stop. The next change waits for the promise that a
   * handler returns, which must not reject.
   */
  subscribe(handler: (change: CacheChange) => unknown): () => void;
  /** Resolves when the first list is in; rejects when the signal aborts or the informer stops. */
  synced(signal?: AbortSignal): Promise<void>;
  /**
   * Resolves when the informer holds all objects of its type. Rejects when it could not list them, with the reason: the
   * type may not be served, or no longer; the informer keeps trying, and a caller makes it try immediately.
   */
  ready(signal?: AbortSignal): Promise<void>;
  /**
   * Lists everything again, now. For changes that no watch reports: when the schema of the type changes, the server
   * serves the same objects differently under the same resource versions.
   */
  relist(): void;
  /** Whether {@link Informer.ready} would resolve now. */
  readonly isReady: boolean;
  /** The newest resource version seen: reads are at least as new as this. */
  readonly resourceVersion: string;
  /** How many times everything was listed. */
  readonly lists: number;
  stop(): Promise<void>;
}

const pageSize = 500;
const watchSeconds = 300;
/** The number of times in a row that a server may ask to retry, seconds altogether, before that counts as a failure to list. */
const patience = 5;

/** Starts an informer: list, then watch, and again from where it was whenever the watch ends. */
export function startInformer(client: KubeReader, type: TypeRef, options: InformerOptions = {}): Informer {
  return new RunningInformer(client, type, options);
}

class RunningInformer implements Informer {
  readonly type: TypeRef;
  readonly #client: KubeReader;
  readonly #options: InformerOptions;
  readonly #cache = new ObjectCache();
  readonly #handlers = new Set<(change: CacheChange) => unknown>();
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;
  readonly #firstList = newAttempt();
  // The list in progress or the next one; waits for it fail when it fails.
  #attempt = newAttempt();
  #pausing: AbortController | undefined;
  #watching: AbortController | undefined;
  #isListDue = true;
  #resourceVersion = "";
  #lists = 0;
  #isReady = false;

  constructor(client: KubeReader, type: TypeRef, options: InformerOptions) {
    this.#client = client;
    this.type = type;
    this.#options = options;
    this.#running = this.#run();
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  get lists(): number {
    return this.#lists;
  }

  get(key: ObjectKey): KubeObject | undefined {
    return this.#cache.get(key);
  }

  list(filter: Parameters<Informer["list"]>[0] = {}): KubeObject[] {
    return selectObjects(this.#cache, filter);
  }

  addIndex(name: string, of: IndexFunction): void {
    this.#cache.addIndex(name, of);
  }

  byIndex(name: string, ...values: readonly [string, ...string[]]): KubeObject[] {
    return this.#cache.byIndex(name, ...values);
  }

  subscribe(handler: (change: CacheChange) => unknown): () => void {
    for (const object of this.#cache.values()) void handler({ type: "added", object });
    this.#handlers.add(handler);
    return () => this.#handlers.delete(handler);
  }

  synced(signal?: AbortSignal): Promise<void> {
    return unlessAborted(this.#firstList.promise, signal);
  }

  async ready(signal?: AbortSignal): Promise<void> {
    if (this.#isReady) return;
    this.#pausing?.abort();
    await unlessAborted(this.#attempt.promise, signal);
  }

  relist(): void {
    this.#isListDue = true;
    this.#watching?.abort();
    this.#pausing?.abort();
  }

  async stop(): Promise<void> {
    const reason = new Error("the informer was stopped");
    this.#stopping.abort(reason);
    this.#firstList.reject(reason);
    this.#attempt.reject(reason);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    // A list that succeeds ends a row of failures, but not a row of versions that expire: those cost a list each.
    let [failures, expirations] = [0, 0];
    while (!signal.aborted) {
      try {
        if (this.#isListDue) {
          await this.#list();
          failures = 0;
        }
        if (signal.aborted) return;
        if (this.#isListDue) continue;
        failures = (await this.#watch()) ? 0 : 1;
        expirations = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (mustListAgain(error)) {
          this.#isListDue = true;
          this.#resourceVersion = "";
          if (++expirations === 1) continue;
        } else failures++;
        await this.#failed(error, failures);
      }
      // A watch that brought something is opened again at once; a server that closes empty ones must not be hammered.
      const row = Math.max(failures, expirations);
      if (row > 0 && !signal.aborted) await this.#rest(row - 1);
    }
  }

  /** Lists page by page. A continue token that expired half-way starts the list again. */
  async #list(): Promise<void> {
    this.#isListDue = false;
    try {
      const { objects, version } = await this.#listPages();
      await inTurns(this.#replacing(objects));
      this.#stopping.signal.throwIfAborted();
      this.#resourceVersion = version;
    } catch (error) {
      this.#isListDue = true;
      throw error;
    }
    this.#lists++;
    this.#isReady = true;
    this.#attempt.resolve();
    this.#firstList.resolve();
  }

  /**
   * Handlers get each change when it is made: what they find meanwhile is partly of the list before. Nothing else changes the cache. A
   * stopped informer notifies no further ones.
   */
  *#replacing(listed: ReadonlyMap<string, KubeObject>): AwaitingWork<void> {
    for (const change of this.#cache.replacing(listed)) {
      if (this.#stopping.signal.aborted) return;
      yield this.#notify(change);
    }
  }

  async #listPages(): Promise<{ readonly objects: ReadonlyMap<string, KubeObject>; readonly version: string }> {
    const objects = new Map<string, KubeObject>();
    let next: string | undefined;
    let version = "";
    do {
      const page = await this.#client.list(this.type, { ...this.#selection(), limit: pageSize, continue: next });
      await inTurns(this.#taking(page.items, objects));
      next = page.continue;
      version = page.resourceVersion;
    } while (next !== undefined);
    return { objects, version };
  }

  /** Takes the objects of a page, of which those that have not changed are compared to the end. */
  *#taking(items: readonly KubeObject[], objects: Map<string, KubeObject>): Work<void> {
    for (const item of items) {
      const object = this.#cache.reuse(this.#kept(item));
      objects.set(keyText(keyOf(object)), object);
      yield;
    }
  }

  /** Follows one watch to its end and says whether it brought anything, or was aborted for a new list. */
  async #watch(): Promise<boolean> {
    const watching = new AbortController();
    this.#watching = watching;
    try {
      return (await this.#takeAll(AbortSignal.any([this.#stopping.signal, watching.signal]))) || this.#isListDue;
    } catch (error) {
      if (watching.signal.aborted) return true;
      throw error;
    }
  }

  async #takeAll(signal: AbortSignal): Promise<boolean> {
    let progress = false;
    const events = await this.#client.watch(this.type, {
      ...this.#selection(),
      resourceVersion: this.#resourceVersion,
      allowWatchBookmarks: true,
      timeoutSeconds: watchSeconds,
      signal,
    });
    for await (const event of events) {
      progress = true;
      const handled = this.#take(event);
      // Most changes are handled at once: those need no wait.
      if (handled !== undefined) await handled;
    }
    return progress;
  }

  #take(event: WatchEvent): Promise<unknown> | undefined {
    if (event.type === "BOOKMARK") {
      this.#resourceVersion = event.resourceVersion;
      return undefined;
    }
    const object = this.#kept(event.object);
    // First the objects, then the version: a reader of the version finds the objects at least as new.
    const change = event.type === "DELETED" ? this.#cache.remove(keyOf(object), object) : this.#cache.put(object);
    this.#resourceVersion = object.metadata.resourceVersion ?? this.#resourceVersion;
    return this.#notify(change);
  }

  #kept(object: KubeObject): KubeObject {
    const { transform } = this.#options;
    return transform === undefined ? object : Object.freeze(transform(object));
  }

  async #failed(error: unknown, failures: number): Promise<void> {
    if (isNoMatch(error)) await this.#empty();
    // A server that is too busy, or has just begun to serve the type, says so: callers can wait a little longer.
    const isPassing = isTooManyRequests(error) && failures < patience;
    if (!this.#isReady && !isPassing) {
      this.#attempt.reject(error);
      this.#attempt = newAttempt();
    }
    this.#options.onError?.(error, this.type);
  }

  /** The type has gone, and its objects with it. It may come back. */
  async #empty(): Promise<void> {
    this.#isListDue = true;
    this.#resourceVersion = "";
    // The last attempt succeeded. Who waits from now on waits for the next one, also while the objects go in parts.
    if (this.#isReady) this.#attempt = newAttempt();
    this.#isReady = false;
    await inTurns(this.#replacing(new Map()));
  }

  /** The delay grows with each failure, unless a caller waits. */
  async #rest(failures: number): Promise<void> {
    const pausing = new AbortController();
    this.#pausing = pausing;
    const pause = this.#options.sleep ?? sleep;
    await pause(backoffDelay(failures), AbortSignal.any([this.#stopping.signal, pausing.signal]));
    this.#pausing = undefined;
  }

  #notify(change: CacheChange | undefined): Promise<unknown> | undefined {
    if (change === undefined) return undefined;
    const handled: Promise<unknown>[] = [];
    for (const handler of this.#handlers) {
      const done = handler(change);
      if (done instanceof Promise) handled.push(done);
    }
    return handled.length === 0 ? undefined : Promise.all(handled);
  }

  #selection(): Pick<ListOptions, "namespace" | "labelSelector" | "fieldSelector" | "signal"> {
    const { namespace, labelSelector, fieldSelector } = this.#options;
    return { namespace, labelSelector, fieldSelector, signal: this.#stopping.signal };
  }
}

/** Marks a promise as handled: a failure without a waiting caller is reported through onError. */
function newAttempt(): PromiseWithResolvers<void> {
  const attempt = Promise.withResolvers<void>();
  attempt.promise.catch(() => {});
  return attempt;
}

async function unlessAborted(promise: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  if (signal === undefined) return promise;
  signal.throwIfAborted();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  await Promise.race([promise, aborted]).finally(() => signal.removeEventListener("abort", abort));
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

/** Waits, or returns early when the signal aborts. */
type Sleep = (milliseconds: number, signal: AbortSignal) => Promise<void>;

const firstDelayMs = 200;
const longestDelayMs = 30_000;

/** How long to wait after this many failures in a row: doubling, up to half a minute, a little different each time. */
export function backoffDelay(failures: number, random: () => number = Math.random): number {
  const delayMs = Math.min(firstDelayMs * 2 ** Math.min(failures, 20), longestDelayMs);
  return delayMs * (0.8 + 0.4 * random());
}

/** Waits by the clock. */
export const sleep: Sleep = async (milliseconds, signal) => {
  await delay(milliseconds, undefined, { signal }).catch(() => {});
};
