// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type { CacheChange, Informer, InformerLease, InformerPool } from "@purlin/kube-client";
import type { KubeObject, ObjectKey } from "@purlin/kube-objects/object";
import type { WatchSpec } from "./controller-engine.ts";

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
