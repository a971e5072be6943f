// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import type { CacheChange, Informer, InformerLease, InformerPool } from "@purlin/kube-client";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import type { Reconcile } from "../controller/controller.ts";
import type { Backoff, RetryRate } from "../queue/work-queue.ts";

/** Which watch of a controller: the purpose it serves and the type it watches. */
export interface WatchId {
  /** What the watch is for, such as `CompositeResource`, `CompositionRevision` or `Dependency`. */
  readonly type: string;
  readonly object: TypeRef;
}

/** A watch that wakes a controller. */
export interface WatchSpec extends WatchId {
  /** The keys to reconcile after a change; called once a change, with the object before it when there was one. */
  readonly keys: (change: CacheChange) => Iterable<ObjectKey>;
  /** Where its informer comes from; the pool of the engine unless given. */
  readonly informers?: InformerPool | undefined;
}

/** A controller to be started. */
export interface ControllerSpec {
  readonly name: string;
  readonly reconcile: Reconcile;
  /** How many keys may be reconciled at the same time. */
  readonly concurrency?: number | undefined;
  /** The delays of a key after failures; one second to one minute by default. */
  readonly backoff?: Backoff | undefined;
  /** How many retries of all its keys together may start; unlimited by default. */
  readonly retryRate?: RetryRate | undefined;
}

/** Controllers and their watches, started and stopped while the process runs. All informers are shared. */
export interface ControllerEngine {
  /** Does nothing when a controller of that name runs. */
  start(spec: ControllerSpec): void;
  /**
   * Ends the watches, then the controller, and waits for running reconciles; so never from one of them. Does nothing when
   * none of that name runs.
   */
  stop(name: string): Promise<void>;
  isRunning(name: string): boolean;
  /** Does nothing when no controller of that name runs. */
  enqueue(name: string, key: ObjectKey, afterMs?: number): void;
  /**
   * Starts the watches that do not run yet and resolves when each has seen every object there is. Rejects when a type is
   * not served, naming it; the watches that could be started stay. Does nothing for a controller that is being stopped.
   * Rejects as well when the signal aborts: the watches continue to start without being waited for.
   */
  startWatches(name: string, watches: readonly WatchSpec[], signal?: AbortSignal): Promise<void>;
  stopWatches(name: string, watches: readonly WatchId[]): Promise<void>;
  watchesOf(name: string): readonly WatchId[];
  /** Stops every controller. */
  close(): Promise<void>;
}

/** A controller that runs as long as the control plane does, and what wakes it. */
export interface WatchingController {
  readonly spec: ControllerSpec;
  readonly watches: readonly WatchSpec[];
}

/** How controllers of our own kinds space out their retries. */
export const retryBackoff = { baseMs: 1000, maxMs: 60_000 } as const;

/** The dependencies of a watch. */
interface WatchDeps {
  readonly informers: InformerPool;
  readonly clock: Clock;
  readonly log: Log;
  /** How often every object is delivered again; 0 for never. */
  readonly resyncMs: number;
  readonly enqueue: (key: ObjectKey) => void;
}

/** One watch of one controller. */
export class Watch {
  readonly spec: WatchSpec;
  readonly #deps: WatchDeps;
  readonly #lease: InformerLease;
  #unsubscribe: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  #stopped = false;

  constructor(spec: WatchSpec, deps: WatchDeps) {
    this.spec = spec;
    this.#deps = deps;
    this.#lease = (spec.informers ?? deps.informers).acquire(spec.object);
  }

  get hasStarted(): boolean {
    return this.#unsubscribe !== undefined;
  }

  /** Whether it has delivered all existing objects. */
  get isReady(): boolean {
    return this.hasStarted && this.#lease.informer.isReady;
  }

  /** Resolves when all existing objects are delivered. Rejects when the type cannot be listed, and may be called again. */
  async ready(): Promise<void> {
    await this.#lease.informer.ready();
    if (this.#stopped || this.#unsubscribe !== undefined) return;
    this.#unsubscribe = this.#lease.informer.subscribe((change) => this.#deliver(change));
    this.#scheduleResync();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#cancelResync?.();
    await this.#lease.release();
  }

  #deliver(change: CacheChange): void {
    try {
      for (const key of this.spec.keys(change)) this.#deps.enqueue(key);
    } catch (error) {
      const { type, object } = this.spec;
      const text = error instanceof Error ? error.message : String(error);
      this.#deps.log.error("cannot map a watch event", { watch: type, kind: object.kind, error: text });
    }
  }

  #scheduleResync(): void {
    const { clock, resyncMs } = this.#deps;
    if (resyncMs <= 0 || this.#stopped) return;
    // With jitter, so that not all watches resync at once.
    this.#cancelResync = clock.schedule(resyncMs * (0.9 + 0.2 * Math.random()), () => {
      this.#resync(this.#lease.informer, this.#lease.informer.list());
      this.#scheduleResync();
    });
  }

  /** Delivers every object again, a part at a time, so that the event loop is not blocked. */
  #resync(informer: Informer, objects: readonly KubeObject[], from = 0): void {
    if (this.#stopped) return;
    for (const { metadata } of objects.slice(from, from + resyncPart)) {
      const { name = "", namespace } = metadata;
      const object = informer.get({ name, namespace });
      if (object !== undefined) this.#deliver({ type: "updated", object, previous: object });
    }
    const next = from + resyncPart;
    if (next < objects.length) setImmediate(() => this.#resync(informer, objects, next));
  }
}

const resyncPart = 500;
