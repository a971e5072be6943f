// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import { ValuesByName } from "../objects/values-by-name.ts";
import type { Entry } from "../store/store.ts";
import { type Dependent, type OwnedObject, ownedObject } from "./decide.ts";

/** Where an object is read from. */
export type Stored = Pick<Entry<JsonObject>, "value">;

/** An object of the store that has owners. */
class StoredDependent implements Dependent {
  readonly uid: string;
  readonly #stored: Stored;

  constructor(uid: string, stored: Stored) {
    this.uid = uid;
    this.#stored = stored;
  }

  read(): OwnedObject | undefined {
    return ownedObject(this.#stored.value);
  }
}

/**
 * The graph of owners and dependents. Only objects that have owners take memory, and of them only uids: an object can have tens of thousands
 * of owners.
 */
export class OwnershipIndex {
  readonly #byOwner = new ValuesByName<StoredDependent>();
  readonly #byUid = new Map<string, StoredDependent>();

  /** Takes in a new state of an object. Between its parts an object that has been a dependent all the time is always found as one. */
  *putting(stored: Stored): Work<void> {
    const object = ownedObject(stored.value);
    if (object === undefined) return;
    const { uid, owners } = object;
    const known = this.#byUid.get(uid);
    if (owners.length === 0) {
      yield* this.removing(uid);
      return;
    }
    const dependent = new StoredDependent(uid, stored);
    this.#byUid.set(uid, dependent);
    for (const owner of owners) {
      this.#byOwner.add(owner.uid, dependent);
      if (isPartDone()) yield;
    }
    if (known !== undefined) yield* this.#leaving(known);
  }

  /** Forgets an object as a dependent; others may still name it as their owner. */
  *removing(uid: string): Work<void> {
    const known = this.#byUid.get(uid);
    if (known === undefined) return;
    this.#byUid.delete(uid);
    yield* this.#leaving(known);
  }

  *#leaving(dependent: StoredDependent): Work<void> {
    for (const owner of dependent.read()?.owners ?? []) {
      this.#byOwner.delete(owner.uid, dependent);
      if (isPartDone()) yield;
    }
  }

  has(uid: string): boolean {
    return this.#byUid.has(uid);
  }

  /** A dependent by its uid. */
  get(uid: string): OwnedObject | undefined {
    return this.#byUid.get(uid)?.read();
  }

  dependentsOf(uid: string): readonly Dependent[] {
    return this.#byOwner.of(uid);
  }

  /** The uids of all dependents, for a look at everything. */
  uids(): IterableIterator<string> {
    return this.#byUid.keys();
  }
}
