// SPDX-License-Identifier: Apache-2.0
import type { Clock } from "@purlin/base";
import { type CallOptions, type InformerLease, type InformerPool, isNoMatch } from "@purlin/kube-client";
import type { KubeObject, ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { OwnWrites } from "./own-writes.ts";

/** What {@link CachedTypes} needs. */
interface CachedTypesOptions {
  readonly informers: InformerPool;
  readonly clock: Clock;
  /** A type that was not read for this long is no longer watched on account of reads. */
  readonly idleMs: number;
}

interface Entry {
  readonly lease: InformerLease;
  readonly writes: OwnWrites;
  usedAt: number;
}

const sweepEveryMs = 60_000;

/** The types that are read through caches: followed from the first read on, for as long as they are read. */
export class CachedTypes {
  readonly #options: CachedTypesOptions;
  readonly #entries = new Map<string, Entry>();
  #cancelSweep: () => void;

  constructor(options: CachedTypesOptions) {
    this.#options = options;
    this.#cancelSweep = options.clock.schedule(sweepEveryMs, () => this.#sweep());
  }

  /** The names of the types that are followed. */
  get followed(): readonly string[] {
    return [...this.#entries.keys()];
  }

  /** All objects of a type: those its informer holds, and our own writes since. Rejects when they cannot be listed. */
  async open(type: TypeRef, { signal }: CallOptions = {}): Promise<OwnWrites> {
    const entry = this.#entry(type);
    entry.usedAt = this.#options.clock.now();
    const { informer } = entry.lease;
    if (!informer.isReady) {
      try {
        await informer.ready(signal);
      } catch (error) {
        if (isNoMatch(error)) await this.#drop(nameOf(type), entry);
        throw error;
      }
    }
    return entry.writes;
  }

  /** Takes note of a write. */
  stored(object: KubeObject): void {
    this.#writesOf(object)?.stored(object);
  }

  /** The newer version of an object: the one that was read, or the one that this process wrote. */
  newest(object: KubeObject): KubeObject | undefined {
    const writes = this.#entries.get(nameOf(object))?.writes;
    return writes === undefined ? object : writes.newest(object);
  }

  /** The object as far as the caches know it. */
  known(type: TypeRef, key: ObjectKey): KubeObject | undefined {
    return this.#writesOf(type)?.get(key);
  }

  /** How often the objects of a type were listed: what the server made of an apply before the last list may differ now. */
  listsOf(type: TypeRef): number {
    return this.#entries.get(nameOf(type))?.lease.informer.lists ?? 0;
  }

  deleted(object: KubeObject): void {
    this.#writesOf(object)?.deleted(object);
  }

  async close(): Promise<void> {
    this.#cancelSweep();
    await Promise.all([...this.#entries].map(([name, entry]) => this.#drop(name, entry)));
  }

  /** A controller that watches a type will read it: what is written before the first read counts as well. */
  #writesOf(type: TypeRef): OwnWrites | undefined {
    const followed = this.#entries.get(nameOf(type));
    if (followed === undefined && this.#options.informers.peek(type) === undefined) return undefined;
    return (followed ?? this.#entry(type)).writes;
  }

  #entry(type: TypeRef): Entry {
    const name = nameOf(type);
    const known = this.#entries.get(name);
    if (known !== undefined) return known;
    const lease = this.#options.informers.acquire(type);
    const writes = new OwnWrites(lease.informer);
    const entry: Entry = { lease, writes, usedAt: this.#options.clock.now() };
    this.#entries.set(name, entry);
    return entry;
  }

  async #drop(name: string, entry: Entry): Promise<void> {
    if (this.#entries.get(name) !== entry) return;
    this.#entries.delete(name);
    entry.writes.close();
    await entry.lease.release();
  }

  #sweep(): void {
    const { clock, idleMs } = this.#options;
    const idleSince = clock.now() - idleMs;
    for (const [name, entry] of this.#entries) {
      if (entry.usedAt < idleSince || hasGone(entry)) void this.#drop(name, entry);
      else entry.writes.sweep();
    }
    this.#cancelSweep = clock.schedule(sweepEveryMs, () => this.#sweep());
  }
}

/** The type was there and is no longer served. A type whose first list is still running has readers that wait for it. */
function hasGone({ lease: { informer } }: Entry): boolean {
  return !informer.isReady && informer.lists > 0;
}

function nameOf({ apiVersion, kind }: TypeRef): string {
  return `${apiVersion}/${kind}`;
}
