// SPDX-License-Identifier: Apache-2.0
import { jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, keyOf, keyText, type ObjectKey } from "@purlin/kube-objects/object";

/** A change a cache went through. `previous` is the object it held before. */
export type CacheChange =
  | { readonly type: "added"; readonly object: KubeObject }
  | { readonly type: "updated"; readonly object: KubeObject; readonly previous: KubeObject }
  | { readonly type: "deleted"; readonly object: KubeObject };

/** Gives the values an object is found under in an index, such as the uids of its owners. */
export type IndexFunction = (object: KubeObject) => readonly string[];

/** The objects of one type as last seen, by key and by index. */
export class ObjectCache {
  readonly #objects = new Map<string, KubeObject>();
  readonly #indexes = new Map<string, { readonly of: IndexFunction; readonly entries: Map<string, Set<string>> }>();

  get size(): number {
    return this.#objects.size;
  }

  get(key: ObjectKey): KubeObject | undefined {
    return this.#objects.get(keyText(key));
  }

  values(): IterableIterator<KubeObject> {
    return this.#objects.values();
  }

  /** Adds an index over everything the cache holds and will hold. */
  addIndex(name: string, of: IndexFunction): void {
    if (this.#indexes.has(name)) return;
    const index = { of, entries: new Map<string, Set<string>>() };
    this.#indexes.set(name, index);
    for (const [key, object] of this.#objects) for (const value of of(object)) add(index.entries, value, key);
  }

  /** The objects an index has under all of these values; looks at no more than the rarest has. Throws when there is no such index. */
  byIndex(name: string, ...values: readonly [string, ...string[]]): KubeObject[] {
    const index = this.#indexes.get(name);
    if (index === undefined) throw new Error(`the cache has no index "${name}"`);
    const found = values.map((value) => index.entries.get(value) ?? new Set<string>());
    const [rarest = new Set<string>(), ...others] = found.toSorted((a, b) => a.size - b.size);
    const keys = [...rarest].filter((key) => others.every((other) => other.has(key)));
    return keys.flatMap((key) => this.#objects.get(key) ?? []);
  }

  /** Stores an object from a watch. Returns the change, or undefined when the cache already holds this resource version. */
  put(object: KubeObject): CacheChange | undefined {
    const { resourceVersion } = object.metadata;
    const previous = this.get(keyOf(object));
    if (previous !== undefined && previous.metadata.resourceVersion === resourceVersion) return undefined;
    return this.#store(object);
  }

  /**
   * The cached object when a listed one equals it, otherwise the listed one. The contents are compared, not only the
   * resource version: a changed schema prunes fields and adds defaults in what the server serves, without a write.
   */
  reuse(listed: KubeObject): KubeObject {
    const cached = this.get(keyOf(listed));
    if (cached?.metadata.resourceVersion !== listed.metadata.resourceVersion || cached === undefined) return listed;
    return jsonEqual(cached, listed) ? cached : listed;
  }

  /** Drops an object. `last` is what the server sent with the deletion, if it sent anything. */
  remove(key: ObjectKey, last?: KubeObject): CacheChange | undefined {
    const text = keyText(key);
    const previous = this.#objects.get(text);
    if (previous === undefined) return undefined;
    this.#unindex(text, previous);
    this.#objects.delete(text);
    return { type: "deleted", object: last ?? previous };
  }

  /**
   * Makes the cache equal to a list, one object at a time, and gives each change when it is made. Objects taken through
   * {@link ObjectCache.reuse} do not change.
   */
  *replacing(listed: ReadonlyMap<string, KubeObject>): Generator<CacheChange | undefined, void, void> {
    for (const [key, object] of this.#objects) yield listed.has(key) ? undefined : this.remove(keyOf(object));
    for (const object of listed.values()) yield this.#store(object);
  }

  #store(object: KubeObject): CacheChange | undefined {
    const key = keyText(keyOf(object));
    const previous = this.#objects.get(key);
    if (previous === object) return undefined;
    if (previous !== undefined) this.#unindex(key, previous);
    this.#objects.set(key, object);
    for (const { of, entries } of this.#indexes.values()) for (const value of of(object)) add(entries, value, key);
    return previous === undefined ? { type: "added", object } : { type: "updated", object, previous };
  }

  #unindex(key: string, object: KubeObject): void {
    for (const { of, entries } of this.#indexes.values()) {
      for (const value of of(object)) {
        const keys = entries.get(value);
        keys?.delete(key);
        if (keys?.size === 0) entries.delete(value);
      }
    }
  }
}

function add(entries: Map<string, Set<string>>, value: string, key: string): void {
  const keys = entries.get(value);
  if (keys === undefined) entries.set(value, new Set([key]));
  else keys.add(key);
}
