// SPDX-License-Identifier: Apache-2.0
import type { Entry, Store, Watch } from "@purlin/kube-apiserver/kinds";
import type { JsonObject } from "@purlin/kube-objects/json";

/** Receives the objects below a prefix: each one that is added or removed. A change is a removal and an addition. */
interface ObjectSink {
  clear(): void;
  add(entry: Entry<JsonObject>): void;
  remove(entry: Entry<JsonObject>): void;
}

/** Keeps a summary of all objects below a prefix. It starts with a list on first use, and then reads only the changes. */
export class FollowedObjects {
  readonly #store: Store<JsonObject>;
  readonly #prefix: string;
  readonly #sink: ObjectSink;
  #watch: Watch<JsonObject> | undefined;

  constructor(store: Store<JsonObject>, prefix: string, sink: ObjectSink) {
    this.#store = store;
    this.#prefix = prefix;
    this.#sink = sink;
  }

  /** Brings the summary up to date with the store. */
  catchUp(): void {
    try {
      const watch = this.#watch ?? this.#start();
      for (let changes = watch.take(); changes.length > 0; changes = watch.take()) {
        for (const { entry, previous } of changes) {
          if (previous !== undefined) this.#sink.remove(previous);
          if (entry !== undefined) this.#sink.add(entry);
        }
      }
    } catch {
      // The changes since the last call are compacted: list the objects again.
      this.#watch?.close();
      this.#start();
    }
  }

  close(): void {
    this.#watch?.close();
    this.#watch = undefined;
  }

  #start(): Watch<JsonObject> {
    const { entries, revision } = this.#store.list({ prefix: this.#prefix });
    this.#sink.clear();
    for (const entry of entries) this.#sink.add(entry);
    this.#watch = this.#store.watch({ scope: this.#prefix, after: revision, onReady: () => {} });
    return this.#watch;
  }
}

/** The objects below a prefix by namespace, in the order of their names. */
export class NamespacedObjects {
  readonly #followed: FollowedObjects;
  readonly #byNamespace = new Map<string, Map<string, JsonObject>>();

  /** `onRemoved` is called for each object that was changed or deleted. */
  constructor(store: Store<JsonObject>, prefix: string, onRemoved: (object: JsonObject) => void = () => {}) {
    const namespaceOf = (key: string): string => key.slice(prefix.length, key.indexOf("/", prefix.length));
    this.#followed = new FollowedObjects(store, prefix, {
      clear: () => this.#byNamespace.clear(),
      add: ({ key, value }) => {
        const known = this.#byNamespace.get(namespaceOf(key)) ?? new Map<string, JsonObject>();
        this.#byNamespace.set(namespaceOf(key), known.set(key, value));
      },
      remove: ({ key, value }) => {
        onRemoved(value);
        const known = this.#byNamespace.get(namespaceOf(key));
        known?.delete(key);
        if (known?.size === 0) this.#byNamespace.delete(namespaceOf(key));
      },
    });
  }

  in(namespace: string): readonly JsonObject[] {
    this.#followed.catchUp();
    const known = this.#byNamespace.get(namespace);
    if (known === undefined) return [];
    return [...known].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
  }
}
