// SPDX-License-Identifier: Apache-2.0

import { inOwnFlow } from "@purlin/base";
import type { History } from "./history.ts";
import { byteOrdered } from "./ordered-index.ts";
import type { Change, Watch, WatchOptions } from "./store.ts";
import { StoreError } from "./store-error.ts";

/** A watcher that is further behind than this many changes looks for them in the history instead. */
const maxAnnounced = 64;
const defaultTake = 256;

/** What a watcher needs of its store. */
interface WatchSource<T extends object> {
  readonly history: History<T>;
  readonly revision: number;
  readonly compactedRevision: number;
}

/**
 * A place in the shared history. It buffers no changes, only the revisions of a few, so a slow watcher costs no memory; when
 * the history no longer contains its place, it gets an error.
 */
export class Watcher<T extends object> implements Watch<T> {
  /** Byte-ordered. */
  readonly scope: string;
  /** Whether to send a change to the watcher. */
  readonly isOfInterest: (change: Change<T>) => boolean;
  readonly #source: WatchSource<T>;
  readonly #onReady: () => void;
  readonly #onClose: (watcher: Watcher<T>) => void;
  /** Everything up to here was taken, or is of no interest. */
  #position: number;
  /** Revisions behind the position that are of interest; undefined: unknown, the history must be searched. */
  #announced: number[] | undefined;
  #signalled = false;
  #error: Error | undefined;

  constructor(source: WatchSource<T>, options: WatchOptions<T>, onClose: (watcher: Watcher<T>) => void) {
    this.scope = byteOrdered(options.scope);
    this.isOfInterest = options.isOfInterest ?? (() => true);
    this.#source = source;
    this.#onReady = inOwnFlow(options.onReady);
    this.#onClose = onClose;
    this.#position = options.after;
    this.#announced = options.after < source.revision ? undefined : [];
    if (this.#announced === undefined) this.#signal();
  }

  take(limit: number = defaultTake): readonly Change<T>[] {
    if (this.#error !== undefined) throw this.#error;
    if (this.#announced?.length !== 0) this.#requireKept(this.#announced?.[0] ?? this.#position + 1);
    const changes = this.#announced === undefined ? this.#search(limit) : this.#takeAnnounced(this.#announced, limit);
    // Only a taker that was given nothing waits to be called.
    this.#signalled = changes.length > 0;
    return changes;
  }

  close(): void {
    this.#onClose(this);
    this.#error ??= new StoreError("closed", "the watch was closed");
  }

  /** A change of interest was committed. */
  announce(revision: number): void {
    if (revision <= this.#position) return;
    if (this.#announced !== undefined && this.#announced.push(revision) > maxAnnounced) {
      this.#position = (this.#announced[0] ?? revision) - 1;
      this.#announced = undefined;
    }
    this.#signal();
  }

  end(error: Error): void {
    this.#error ??= error;
    this.#signal();
  }

  #takeAnnounced(announced: number[], limit: number): Change<T>[] {
    const changes: Change<T>[] = [];
    for (const revision of announced.splice(0, limit)) {
      const change = this.#source.history.find(revision);
      if (change !== undefined) changes.push(change);
    }
    this.#position = changes.at(-1)?.revision ?? this.#position;
    return changes;
  }

  #search(limit: number): Change<T>[] {
    const changes: Change<T>[] = [];
    for (const change of this.#source.history.after(this.#position)) {
      if (changes.length >= limit) return changes;
      this.#position = change.revision;
      if (this.#isInScope(change.key)) changes.push(change);
    }
    this.#announced = [];
    return changes;
  }

  #isInScope(key: string): boolean {
    const ordered = byteOrdered(key);
    return this.scope.endsWith("/") ? ordered.startsWith(this.scope) : ordered === this.scope;
  }

  #requireKept(first: number): void {
    const { compactedRevision } = this.#source;
    if (first > compactedRevision) return;
    this.close();
    this.#error = new StoreError(
      "expired",
      `the watcher is too slow: it needs revision ${first}, history begins after ${compactedRevision}`,
    );
    throw this.#error;
  }

  #signal(): void {
    if (!this.#signalled) {
      this.#signalled = true;
      queueMicrotask(this.#onReady);
    }
  }
}

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
        if (watcher.isOfInterest(change)) watcher.announce(change.revision);
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
