// SPDX-License-Identifier: Apache-2.0
import { byteOrdered, OrderedIndex } from "./ordered-index.ts";
import type { Change, Entry, ListOptions, Page, Transaction } from "./store.ts";
import { StoreError } from "./store-error.ts";
import type { Version } from "./version.ts";

interface Slot<T extends object> {
  /** Byte-ordered. */
  readonly key: string;
  /** The newest committed version; undefined until the first one is. */
  committed: Version<T> | undefined;
  /** The newest accepted version, when it is not committed yet. */
  pending: Version<T> | undefined;
}

/**
 * Every key with its versions, newest first: committed ones for readers, pending ones on top of them for writers. A deleted key
 * stays, marked, until history forgets the deletion.
 */
export class Keyspace<T extends object> {
  readonly #slots = new Map<string, Slot<T>>();
  readonly #order = new OrderedIndex<Slot<T>>();

  get(key: string): Entry<T> | undefined {
    return this.#slots.get(byteOrdered(key))?.committed?.entry;
  }

  /** For writers: the newest version, committed or not, a deletion included. */
  newest(key: string): { readonly version: Version<T> | undefined; readonly pending: boolean } {
    const slot = this.#slots.get(byteOrdered(key));
    return { version: slot?.pending ?? slot?.committed, pending: slot?.pending !== undefined };
  }

  /** Accepts a version that readers must not see yet. */
  stage(version: Version<T>): void {
    const slot = this.#slotOf(version.key);
    version.older = slot.pending ?? slot.committed;
    slot.pending = version;
  }

  /** Makes a staged version, the oldest one of its key, visible. */
  commit(version: Version<T>): Change<T> {
    const slot = this.#slotOf(version.key);
    if (slot.committed === undefined) this.#order.add(slot);
    slot.committed = version;
    if (slot.pending === version) slot.pending = undefined;
    const { key, revision, entry } = version;
    return { key, revision, entry, previous: version.older?.entry };
  }

  /** Forgets what was staged for the key. */
  unstage(key: string): void {
    const slot = this.#slotOf(key);
    slot.pending = undefined;
    if (slot.committed === undefined) this.#slots.delete(slot.key);
  }

  /**
   * History no longer begins before this revision of the key. Returns the revisions nothing needs: the version
   * before it, and itself if it is a deletion nothing has followed.
   */
  forget(key: string, revision: number): readonly number[] {
    const slot = this.#slots.get(byteOrdered(key));
    const version = slot?.committed?.at(revision);
    if (slot === undefined || version === undefined) return [];
    const obsolete = version.older === undefined ? [] : [version.older.revision];
    version.older = undefined;
    if (version.deleted && slot.committed === version) {
      this.#drop(slot);
      obsolete.push(version.revision);
    }
    return obsolete;
  }

  list(options: ListOptions<T> & { readonly revision: number }): Page<T> {
    const { prefix, revision, limit = Number.POSITIVE_INFINITY, filter } = options;
    if (!prefix.endsWith("/")) throw new TypeError(`cannot list "${prefix}": a prefix ends with "/"`);
    const entries: Entry<T>[] = [];
    let remaining = 0;
    for (const entry of this.#scan(byteOrdered(prefix), revision, options.after)) {
      if (entries.length >= limit) {
        remaining += 1;
      } else if (filter === undefined || filter(entry)) {
        entries.push(entry);
      }
    }
    return { entries, revision, remaining };
  }

  *#scan(prefix: string, revision: number, after: string | undefined): Generator<Entry<T>> {
    const last = after === undefined ? undefined : byteOrdered(after);
    const start = last === undefined || last < prefix ? prefix : last;
    for (const slot of this.#order.from(start)) {
      if (!slot.key.startsWith(prefix)) return;
      const entry = slot.committed?.at(revision)?.entry;
      if (entry !== undefined && slot.key !== last) yield entry;
    }
  }

  #slotOf(key: string): Slot<T> {
    const ordered = byteOrdered(key);
    let slot = this.#slots.get(ordered);
    if (slot === undefined) {
      slot = { key: ordered, committed: undefined, pending: undefined };
      this.#slots.set(ordered, slot);
    }
    return slot;
  }

  #drop(slot: Slot<T>): void {
    this.#order.remove(slot.key);
    slot.committed = undefined;
    if (slot.pending === undefined) this.#slots.delete(slot.key);
  }
}

/** Refuses a revision that lies outside what is kept. */
export function requireKept(revision: number, compacted: number, newest: number): void {
  if (revision < compacted) {
    throw new StoreError("expired", `revision ${revision} is too old: history begins at ${compacted}`);
  }
  if (revision > newest) {
    throw new StoreError("future", `revision ${revision} has not happened yet: the newest is ${newest}`);
  }
}

/** The view of one writer, which notices whether it was shown anything that is not durable yet. */
export class Draft<T extends object> implements Transaction<T> {
  readonly revision: number;
  readonly current: Entry<T> | undefined;
  readonly #keyspace: Keyspace<T>;
  #sawPending: boolean;

  constructor(keyspace: Keyspace<T>, key: string, revision: number) {
    const { version, pending } = keyspace.newest(key);
    this.revision = revision;
    this.current = version?.entry;
    this.#keyspace = keyspace;
    this.#sawPending = pending;
  }

  get sawPending(): boolean {
    return this.#sawPending;
  }

  /** Bound, since writers like to take it out of the transaction. */
  readonly peek = (key: string): Entry<T> | undefined => {
    const { version, pending } = this.#keyspace.newest(key);
    this.#sawPending ||= pending;
    return version?.entry;
  };
}
