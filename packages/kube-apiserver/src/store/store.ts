// SPDX-License-Identifier: Apache-2.0

/** Converts values to stored bytes and back. `decode` must return an immutable object. */
export interface Codec<T extends object> {
  readonly encode: (value: T) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => T;
}

/** One committed state of one key. */
export interface Entry<T extends object> {
  readonly key: string;
  /** The revision of the change that made this state. */
  readonly revision: number;
  /** The revision that created the key; differs after delete and create. */
  readonly createRevision: number;
  /** The value as it was encoded, once, when it was written. Never to be changed. */
  readonly bytes: Uint8Array;
  /** The value itself; decoded when first asked for, and again if memory was needed for something else. */
  readonly value: T;
  /** When the entry is deleted by itself, in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
}

/** One committed change. Watchers of the same change are handed the same object. */
export interface Change<T extends object> {
  readonly key: string;
  readonly revision: number;
  /** The new state; undefined when the key was deleted. */
  readonly entry: Entry<T> | undefined;
  /** The state before; undefined when the key was created. */
  readonly previous: Entry<T> | undefined;
}

/** What a writer sees while it decides: the newest state, including writes accepted but not yet committed. */
export interface Transaction<T extends object> {
  readonly current: Entry<T> | undefined;
  /** The revision the change will get if there is one, so that it can be written into the value. */
  readonly revision: number;
  /** The newest state of another key. */
  readonly peek: (key: string) => Entry<T> | undefined;
}

/** The change of the key. */
export type Decision<T extends object> =
  | {
      readonly action: "put";
      readonly value: T;
      readonly expiresAt?: number | undefined;
      /** A step on the way to a deletion: taken on a full disk too. */
      readonly frees?: boolean;
    }
  | { readonly action: "delete" }
  | { readonly action: "keep" };

/** The change of the key, durable when it is returned. */
export interface Written<T extends object> {
  /** The state now: undefined when the key does not exist. */
  readonly entry: Entry<T> | undefined;
  /** The state the decision was made on. */
  readonly previous: Entry<T> | undefined;
  /** The revision of the change; undefined when nothing was changed. */
  readonly revision: number | undefined;
}

/** Which keys to list, and in which state. */
export interface ListOptions<T extends object> {
  /** Ends with "/". */
  readonly prefix: string;
  /** The state at this revision instead of the newest. */
  readonly revision?: number | undefined;
  /** Leave out keys up to and including this one. */
  readonly after?: string | undefined;
  readonly limit?: number | undefined;
  /** Entries it refuses are skipped and do not count towards the limit. */
  readonly filter?: ((entry: Entry<T>) => boolean) | undefined;
}

/** One page of a list, in byte order of the keys. */
export interface Page<T extends object> {
  readonly entries: readonly Entry<T>[];
  /** The revision whose state this is. */
  readonly revision: number;
  /** Keys behind the last entry of this page, whether or not a filter would take them; 0 on the last page. */
  readonly remaining: number;
}

/** Which changes to watch: those of one key, or of every key with a prefix. */
export interface WatchOptions<T extends object> {
  /** A key, or a prefix that ends with "/". */
  readonly scope: string;
  /** Says of a new change that it is of no interest, so that the watcher is not called for it; it may still be taken. Default: all are. */
  readonly isOfInterest?: ((change: Change<T>) => boolean) | undefined;
  /** Only changes with a larger revision. */
  readonly after: number;
  /**
   * Called in a microtask when there is something to take after `take` gave nothing (or was not called yet), and when the watch
   * was ended. So: take until there is nothing, then wait for the call.
   */
  readonly onReady: () => void;
}

/** Changes in revision order, taken at the watcher's own pace. */
export interface Watch<T extends object> {
  /**
   * The next changes, at most about `limit`; empty when there are none yet, and then complete up to the store's revision.
   * Throws `expired` when the watcher was so slow that history moved on, and `closed` when the store was closed.
   */
  take(limit?: number): readonly Change<T>[];
  close(): void;
}

/** Called with the newest state of a key, undefined when it is deleted. */
export type StageListener<T extends object> = (key: string, entry: Entry<T> | undefined) => void;

/** Ordered, versioned, durable keys and values. One process, one writer. Values are opaque. */
export interface Store<T extends object> {
  /** The newest committed revision. Starts at 1 and never goes back, also across restarts. */
  readonly revision: number;
  /** Lists and watches below this revision are `expired`. */
  readonly compactedRevision: number;
  /** Why the disk has refused writes lately, or will take none; undefined when it takes them. */
  readonly problem: Error | undefined;
  /** The newest committed state of a key. */
  get(key: string): Entry<T> | undefined;
  list(options: ListOptions<T>): Page<T>;
  watch(options: WatchOptions<T>): Watch<T>;
  /**
   * Decides on one key, at once and exactly once, and settles when everything the decision rests on is on disk. No reader or
   * watcher sees the change earlier. Rejects with what `decide` throws, or with `unavailable` when the disk refuses.
   */
  write(key: string, decide: (transaction: Transaction<T>) => Decision<T>): Promise<Written<T>>;
  /**
   * Calls the listener for each key below the prefix, and from then on in the turn that decides a write, before any later decision is made.
   * The write may not be durable yet: a decision that depends on it must `peek` at its key. A write that fails is followed by a call with
   * the state before it.
   */
  follow(prefix: string, listener: StageListener<T>): void;
  /** Settles when the revision has been reached. */
  waitFor(revision: number, signal: AbortSignal): Promise<void>;
  /** Drops history up to and including the revision, sooner than time and size would. */
  compact(revision: number): void;
  /**
   * Writes a snapshot of the store, with every write acknowledged before the call, to a file that does not exist. Reads and writes continue.
   */
  copyTo(path: string): Promise<void>;
  /** Commits what is pending and releases the data directory. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
