// SPDX-License-Identifier: Apache-2.0
import type { Decision, Entry, Store, Transaction, Written } from "./store.ts";
import { StoreError } from "./store-error.ts";

/** Makes the value to be written; gets the revision it will have. */
type MakeValue<T extends object> = (revision: number) => T;

/** A key that exists now. */
interface Existing<T extends object> extends Written<T> {
  readonly entry: Entry<T>;
}

/** A key that has been deleted. */
interface Deleted<T extends object> extends Written<T> {
  readonly previous: Entry<T>;
  readonly revision: number;
}

/** What must be true of the stored entry. */
interface Precondition {
  readonly revision?: number | undefined;
}

/** Creates a key; `exists` when it is there already. */
export async function createKey<T extends object>(
  store: Store<T>,
  key: string,
  make: MakeValue<T>,
  options: { readonly expiresAt?: number } = {},
): Promise<Existing<T>> {
  const written = await store.write(key, ({ current, revision }) => {
    if (current !== undefined) throw new StoreError("exists", `the key "${key}" exists already`);
    return { action: "put", value: make(revision), ...options };
  });
  return written as Existing<T>;
}

/** Deletes a key; `missing` when it is not there, `conflict` when it is not in the state the caller asked for. */
export async function deleteKey<T extends object>(
  store: Store<T>,
  key: string,
  precondition: Precondition = {},
): Promise<Deleted<T>> {
  const written = await store.write(key, ({ current }) => {
    requireState(key, current, precondition);
    return { action: "delete" };
  });
  return written as Deleted<T>;
}

/** Replaces the value of a key; `missing` or `conflict` as above. */
export async function updateKey<T extends object>(
  store: Store<T>,
  key: string,
  make: (current: Entry<T>, revision: number) => T,
  precondition: Precondition = {},
): Promise<Existing<T>> {
  const written = await store.write(key, ({ current, revision }) => {
    const entry = requireState(key, current, precondition);
    return { action: "put", value: make(entry, revision) };
  });
  return written as Existing<T>;
}

/** Work that takes time, on one state of the key; what it returns decides if the key is still in that state afterwards. */
type Prepare<T extends object> = (
  current: Entry<T> | undefined,
) => Promise<(transaction: Transaction<T>) => Decision<T>>;

/**
 * Writes a key after work that cannot be done inside a write, such as calling a webhook. When another writer changed the key in the
 * meantime the work is done again on what is there then, until the signal says stop.
 */
export async function guaranteedWrite<T extends object>(
  store: Store<T>,
  key: string,
  prepare: Prepare<T>,
  signal: AbortSignal,
): Promise<Written<T>> {
  for (;;) {
    signal.throwIfAborted();
    const before = store.get(key);
    const decide = await prepare(before);
    let isFresh = true;
    const written = await store.write(key, (transaction) => {
      isFresh = transaction.current?.revision === before?.revision;
      return isFresh ? decide(transaction) : { action: "keep" };
    });
    if (isFresh) return written;
  }
}

function requireState<T extends object>(key: string, current: Entry<T> | undefined, wanted: Precondition): Entry<T> {
  if (current === undefined) throw new StoreError("missing", `the key "${key}" does not exist`);
  if (wanted.revision !== undefined && wanted.revision !== current.revision) {
    throw new StoreError("conflict", `the key "${key}" is at revision ${current.revision}, not at ${wanted.revision}`);
  }
  return current;
}
