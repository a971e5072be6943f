// SPDX-License-Identifier: Apache-2.0

import { type AwaitingWork, type Clock, inTurns, type Log, Turns } from "@purlin/base";
import type { CacheChange, Informer, InformerLease, InformerPool } from "@purlin/kube-client";
import { type KubeObject, keyText, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
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
  /**
   * The keys to reconcile after a change; called once a change, with the object before it when there was one. A generator that looks at
   * many objects yields `undefined` where it may be interrupted: the informer delivers its next change when it is done.
   */
  readonly keys: (change: CacheChange) => Iterable<ObjectKey | undefined>;
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
  #starting: Promise<void> | undefined;
  #hasDelivered = false;
  #cancelResync: (() => void) | undefined;
  readonly #turns = new Turns();
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
    return this.#hasDelivered && this.#lease.informer.isReady;
  }

  /** Resolves when all existing objects are delivered. Rejects when the type cannot be listed, and may be called again. */
  async ready(): Promise<void> {
    await this.#lease.informer.ready();
    if (this.#stopped) return;
    this.#starting ??= this.#start();
    await this.#starting;
  }

  /** Delivers existing objects in parts. A change meanwhile comes after them: the informer waits with the next one. */
  async #start(): Promise<void> {
    const existing: CacheChange[] = [];
    let handle = (change: CacheChange): unknown => existing.push(change);
    this.#unsubscribe = this.#lease.informer.subscribe((change) => handle(change));
    const delivered = this.#deliverAll(existing);
    handle = (change) => delivered.then(() => this.#deliver(change));
    await delivered;
    handle = (change) => this.#deliver(change);
    this.#hasDelivered = true;
    this.#scheduleResync();
  }

  /** Enqueues at the end: what `keys` remembers of the objects is complete when the first one is reconciled. */
  async #deliverAll(changes: readonly CacheChange[]): Promise<void> {
    const found = new Map<string, ObjectKey>();
    await inTurns(this.#delivering(changes, (key) => found.set(keyText(key), key)));
    if (!this.#stopped) for (const key of found.values()) this.#deps.enqueue(key);
  }

  *#delivering(changes: readonly CacheChange[], enqueue: (key: ObjectKey) => void): AwaitingWork<void> {
    for (const change of changes) yield this.#deliver(change, enqueue);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#cancelResync?.();
    await this.#lease.release();
  }

  #deliver(change: CacheChange, enqueue = this.#deps.enqueue): void | Promise<void> {
    if (this.#stopped) return;
    try {
      return this.#enqueueAll(this.spec.keys(change)[Symbol.iterator](), enqueue)?.catch((error: unknown) =>
        this.#failed(error),
      );
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Enqueues keys in this turn, and what is left when it is over in later ones. */
  #enqueueAll(keys: Iterator<ObjectKey | undefined>, enqueue: (key: ObjectKey) => void): Promise<void> | undefined {
    for (let next = keys.next(); next.done !== true; next = keys.next()) {
      if (next.value !== undefined) enqueue(next.value);
      else if (this.#stopped) return undefined;
      else if (this.#turns.isOver) return this.#turns.next().then(() => this.#enqueueAll(keys, enqueue));
    }
    return undefined;
  }

  #failed(error: unknown): void {
    const { type, object } = this.spec;
    const text = error instanceof Error ? error.message : String(error);
    this.#deps.log.error("cannot map a watch event", { watch: type, kind: object.kind, error: text });
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
      if (object !== undefined) void this.#deliver({ type: "updated", object, previous: object });
    }
    const next = from + resyncPart;
    if (next < objects.length) setImmediate(() => this.#resync(informer, objects, next));
  }
}

const resyncPart = 500;
