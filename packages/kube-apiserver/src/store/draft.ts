// SPDX-License-Identifier: Apache-2.0
import type { Keyspace } from "./keyspace.ts";
import type { Entry, Transaction } from "./store.ts";

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
