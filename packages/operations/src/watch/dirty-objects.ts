// SPDX-License-Identifier: Apache-2.0
import type { CacheChange } from "@purlin/kube-client/objects";
import { type KubeObject, keyOf, keyText, stringAt } from "@purlin/kube-objects/object";
import { isRelevant, isWatched, syntheticObject } from "./watched-object.ts";

/** An object that an Operation is due for: its newest state. */
export interface DirtyObject {
  readonly key: string;
  readonly object: KubeObject;
  /** The resourceVersion of the change: the order in which changes are handled. */
  readonly version: bigint;
  readonly isUpdate: boolean;
}

/** The changed objects of one WatchOperation, until Operations have been created for them. */
export class DirtyObjects {
  readonly #now: () => number;
  readonly #dirty = new Map<string, DirtyObject>();
  /** The keys of all watched objects. */
  readonly #watched = new Set<string>();
  /** Changes up to this version were handled before the start: a restart delivers them again. */
  readonly #start: bigint;
  /** The newest version that is known to be handled. */
  #handled: bigint;
  /** The newest version of a watched object. */
  #seen: bigint;
  #watch: KubeObject;

  constructor(watch: KubeObject, now: () => number) {
    this.#now = now;
    this.#watch = watch;
    this.#start = versionOf(stringAt(watch, ["status", "lastHandledResourceVersion"]));
    this.#handled = this.#start;
    this.#seen = this.#start;
  }

  /** Takes over the newest WatchOperation; returns whether other objects are watched now. */
  follow(watch: KubeObject): boolean {
    const filter = (one: KubeObject): string =>
      JSON.stringify([
        stringAt(one, ["spec", "watch", "namespace"]),
        (one["spec"] as { watch?: { matchLabels?: unknown } }).watch?.matchLabels,
      ]);
    const isOther = filter(this.#watch) !== filter(watch);
    this.#watch = watch;
    return isOther;
  }

  /** The number of watched objects. */
  get count(): number {
    return this.#watched.size;
  }

  /** The newest version up to which every change is handled. */
  get handled(): string {
    let handled = this.#seen;
    for (const { version } of this.#dirty.values()) if (version <= handled) handled = version - 1n;
    if (handled > this.#handled) this.#handled = handled;
    return this.#handled === 0n ? "" : String(this.#handled);
  }

  /** Takes over a change; returns whether it makes an object dirty. */
  change(change: CacheChange): boolean {
    const { object } = change;
    const key = keyText(keyOf(object));
    if (!isWatched(this.#watch, object)) {
      this.#dirty.delete(key);
      this.#watched.delete(key);
      return false;
    }
    const version = versionOf(object.metadata.resourceVersion);
    if (version > this.#seen) this.#seen = version;
    if (change.type === "deleted") {
      this.#watched.delete(key);
      return this.#add({ key, object: syntheticObject(object, this.#now()), version, isUpdate: false });
    }
    const isKnown = this.#watched.has(key);
    this.#watched.add(key);
    const isUpdate = change.type === "updated";
    // An object that enters the selector is new here, whatever has changed of it.
    if (isUpdate && isKnown && !isRelevant(this.#watch, change.previous, object)) return false;
    return version > this.#start && this.#add({ key, object, version, isUpdate });
  }

  /** The filter was edited: takes over all objects that it selects now. Those that it did not select before become dirty. */
  select(objects: readonly KubeObject[]): void {
    const before = new Set(this.#watched);
    this.#watched.clear();
    for (const object of objects) {
      const key = keyText(keyOf(object));
      this.#watched.add(key);
      const version = versionOf(object.metadata.resourceVersion);
      if (!before.has(key)) this.#add({ key, object, version, isUpdate: false });
    }
    for (const key of this.#dirty.keys()) if (before.has(key) && !this.#watched.has(key)) this.#dirty.delete(key);
  }

  #add(dirty: DirtyObject): boolean {
    // Its turn comes after that of objects that changed before.
    this.#dirty.delete(dirty.key);
    this.#dirty.set(dirty.key, dirty);
    return true;
  }

  /** All of them, in the order of their changes. */
  all(): readonly DirtyObject[] {
    return [...this.#dirty.values()];
  }

  /** An Operation for this state exists. A change since then stays. */
  done({ key, object }: DirtyObject): void {
    if (this.#dirty.get(key)?.object === object) this.#dirty.delete(key);
  }
}

function versionOf(text: string | undefined): bigint {
  return /^[0-9]+$/.test(text ?? "") ? BigInt(text ?? "0") : 0n;
}

/** The type that a WatchOperation watches. */
export function typeOf(watch: KubeObject): { readonly apiVersion: string; readonly kind: string } {
  return {
    apiVersion: stringAt(watch, ["spec", "watch", "apiVersion"]),
    kind: stringAt(watch, ["spec", "watch", "kind"]),
  };
}
