// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { Entry } from "../../store/store.ts";
import { type RoleRef, readingRules } from "../authorizer.ts";
import { RuleIndex } from "./rule-index.ts";

/** The roles that there are at one moment; undefined where bindings refer to a role that does not exist. */
export type RolesByPlace = readonly (StoredRole | undefined)[];

/** The key of a role in the index: Roles with their namespace. */
export function roleKey({ kind, name, namespace }: RoleRef): string {
  return kind === "ClusterRole" ? `/${name}` : `${namespace}/${name}`;
}

/** Roles by key, each at a place that its bindings remember: they find it without a look by its key. */
export class RolePlaces {
  readonly #byKey = new Map<string, { readonly place: number; bindings: number }>();
  readonly #roles: (StoredRole | undefined)[] = [];
  readonly #free: number[] = [];
  #snapshot: RolesByPlace | undefined;

  get(key: string): StoredRole | undefined {
    const known = this.#byKey.get(key);
    return known && this.#roles[known.place];
  }

  set(key: string, role: StoredRole | undefined): void {
    this.#snapshot = undefined;
    this.#roles[this.#at(key).place] = role;
    this.#dropUnused(key);
  }

  /** The place of a role that one more binding refers to. */
  enter(key: string): number {
    const known = this.#at(key);
    known.bindings += 1;
    return known.place;
  }

  /** One binding less refers to the role. */
  leave(key: string): void {
    this.#at(key).bindings -= 1;
    this.#dropUnused(key);
  }

  clear(): void {
    this.#byKey.clear();
    this.#roles.length = 0;
    this.#free.length = 0;
    this.#snapshot = undefined;
  }

  /** The roles as they are now. Remains as it is when they change. */
  snapshot(): RolesByPlace {
    this.#snapshot ??= this.#roles.slice();
    return this.#snapshot;
  }

  #at(key: string): { readonly place: number; bindings: number } {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    const made = { place: this.#free.pop() ?? this.#roles.length, bindings: 0 };
    // A snapshot without the place, or with the role that was there before, is too old.
    this.#snapshot = undefined;
    this.#roles[made.place] = undefined;
    this.#byKey.set(key, made);
    return made;
  }

  #dropUnused(key: string): void {
    const { place, bindings } = this.#at(key);
    if (bindings > 0 || this.#roles[place] !== undefined) return;
    this.#byKey.delete(key);
    this.#free.push(place);
  }
}

/** A Role or ClusterRole of the store. Its rules are read when they are first needed. */
export class StoredRole {
  readonly #entry: Entry<JsonObject>;
  #rules: RuleIndex | undefined;

  constructor(entry: Entry<JsonObject>) {
    this.#entry = entry;
  }

  /** Undefined before {@link indexing} has been done. */
  get rules(): RuleIndex | undefined {
    return this.#rules;
  }

  *indexing(): Work<RuleIndex> {
    if (this.#rules !== undefined) return this.#rules;
    const made = yield* RuleIndex.indexing(yield* readingRules(this.#entry.value));
    this.#rules ??= made;
    return this.#rules;
  }
}
