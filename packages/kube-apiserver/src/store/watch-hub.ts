// SPDX-License-Identifier: Apache-2.0
import { byteOrdered } from "./byte-order.ts";
import type { Change } from "./store.ts";
import type { Watcher } from "./watcher.ts";

/** Finds the watchers of a change by the scopes its key lies in, without asking the others. */
export class WatchHub<T extends object> {
  readonly #scopes = new Map<string, Set<Watcher<T>>>();

  add(watcher: Watcher<T>): void {
    const watchers = this.#scopes.get(watcher.scope);
    if (watchers === undefined) {
      this.#scopes.set(watcher.scope, new Set([watcher]));
    } else {
      watchers.add(watcher);
    }
  }

  remove(watcher: Watcher<T>): void {
    const watchers = this.#scopes.get(watcher.scope);
    watchers?.delete(watcher);
    if (watchers?.size === 0) this.#scopes.delete(watcher.scope);
  }

  publish(change: Change<T>): void {
    for (const scope of scopesOf(byteOrdered(change.key))) {
      for (const watcher of this.#scopes.get(scope) ?? []) {
        watcher.announce(change.revision);
      }
    }
  }

  /** Ends every watch with the error. */
  end(error: Error): void {
    for (const watchers of this.#scopes.values()) {
      for (const watcher of watchers) {
        watcher.end(error);
      }
    }
    this.#scopes.clear();
  }
}

/** "/a/b/c" lies in the scopes "/", "/a/", "/a/b/" and "/a/b/c". */
function* scopesOf(key: string): Generator<string> {
  for (let slash = key.indexOf("/"); slash !== -1; slash = key.indexOf("/", slash + 1)) {
    yield key.slice(0, slash + 1);
  }
  if (!key.endsWith("/")) yield key;
}
