// SPDX-License-Identifier: Apache-2.0
import type { CacheChange, Informer, InformerLease, InformerPool } from "@purlin/kube-client";
import type { KubeObject, ObjectKey } from "@purlin/kube-objects/object";
import type { Clock } from "../clock.ts";
import type { Log } from "../log.ts";
import type { WatchSpec } from "./controller-engine.ts";

/** What a watch needs of its surroundings. */
interface WatchSurroundings {
  readonly informers: InformerPool;
  readonly clock: Clock;
  readonly log: Log;
  /** Every object is told again this often; 0 for never. */
  readonly resyncMs: number;
  readonly enqueue: (key: ObjectKey) => void;
}

/** One watch of one controller. */
export class Watch {
  readonly spec: WatchSpec;
  readonly #surroundings: WatchSurroundings;
  readonly #lease: InformerLease;
  #unsubscribe: (() => void) | undefined;
  #cancelResync: (() => void) | undefined;
  #stopped = false;

  constructor(spec: WatchSpec, surroundings: WatchSurroundings) {
    this.spec = spec;
    this.#surroundings = surroundings;
    this.#lease = surroundings.informers.acquire(spec.object);
  }

  get hasStarted(): boolean {
    return this.#unsubscribe !== undefined;
  }

  /** Whether it has told every object there is, and there is nothing to wait for. */
  get isReady(): boolean {
    return this.hasStarted && this.#lease.informer.isReady;
  }

  /** Resolves when every object there is has been told. Rejects when the type cannot be listed, and may be asked again. */
  async ready(): Promise<void> {
    await this.#lease.informer.ready();
    if (this.#stopped || this.#unsubscribe !== undefined) return;
    this.#unsubscribe = this.#lease.informer.subscribe((change) => this.#tell(change));
    this.#scheduleResync();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#cancelResync?.();
    await this.#lease.release();
  }

  #tell(change: CacheChange): void {
    try {
      for (const key of this.spec.keys(change)) this.#surroundings.enqueue(key);
    } catch (error) {
      const { type, object } = this.spec;
      const text = error instanceof Error ? error.message : String(error);
      this.#surroundings.log.error("cannot map a watch event", { watch: type, kind: object.kind, error: text });
    }
  }

  #scheduleResync(): void {
    const { clock, resyncMs } = this.#surroundings;
    if (resyncMs <= 0 || this.#stopped) return;
    // A little different each time, so that not all watches tell everything at once.
    this.#cancelResync = clock.schedule(resyncMs * (0.9 + 0.2 * Math.random()), () => {
      this.#resync(this.#lease.informer, this.#lease.informer.list());
      this.#scheduleResync();
    });
  }

  /** Tells every object again, a part at a time: the event loop has other things to do. */
  #resync(informer: Informer, objects: readonly KubeObject[], from = 0): void {
    if (this.#stopped) return;
    for (const { metadata } of objects.slice(from, from + resyncPart)) {
      const { name = "", namespace } = metadata;
      const object = informer.get({ name, namespace });
      if (object !== undefined) this.#tell({ type: "updated", object, previous: object });
    }
    const next = from + resyncPart;
    if (next < objects.length) setImmediate(() => this.#resync(informer, objects, next));
  }
}

const resyncPart = 500;
