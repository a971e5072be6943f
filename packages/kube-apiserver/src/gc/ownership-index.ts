// SPDX-License-Identifier: Apache-2.0
import type { OwnedObject } from "./owned-object.ts";

/** Who depends on whom. Only objects that have owners take room. */
export class OwnershipIndex {
  readonly #dependents = new Map<string, Map<string, OwnedObject>>();
  readonly #byUid = new Map<string, OwnedObject>();

  /** Takes in a new state of an object. */
  put(object: OwnedObject): void {
    this.remove(object.uid);
    if (object.owners.length === 0) return;
    this.#byUid.set(object.uid, object);
    for (const { uid } of object.owners) {
      const dependents = this.#dependents.get(uid) ?? new Map<string, OwnedObject>();
      dependents.set(object.uid, object);
      this.#dependents.set(uid, dependents);
    }
  }

  /** Forgets an object as a dependent; others may still name it as their owner. */
  remove(uid: string): void {
    const known = this.#byUid.get(uid);
    if (known === undefined) return;
    this.#byUid.delete(uid);
    for (const owner of known.owners) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
  }

  /** A dependent by its uid. */
  get(uid: string): OwnedObject | undefined {
    return this.#byUid.get(uid);
  }

  dependentsOf(uid: string): OwnedObject[] {
    return [...(this.#dependents.get(uid)?.values() ?? [])];
  }

  /** All dependents, for a look at everything. */
  all(): IterableIterator<OwnedObject> {
    return this.#byUid.values();
  }
}
