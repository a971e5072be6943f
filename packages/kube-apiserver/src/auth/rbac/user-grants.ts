// SPDX-License-Identifier: Apache-2.0
// What bindings give to a user. One user can write 100,000 bindings for a group of all users: they are sorted in parts.
import { compareUtf8, isPartDone, sorting, type Work } from "@purlin/base";
import { missingRolesText, type RoleRef } from "../authorizer.ts";
import type { FoundGrants, UserBinding } from "./rbac-index.ts";
import type { StoredRole } from "./stored-roles.ts";

/** A role that a binding gives to a user. */
interface Grant {
  readonly by: UserBinding;
  readonly role: StoredRole;
  /** Why an access is allowed, once it has been printed. */
  reason: string | undefined;
}

/** What the bindings of one namespace, or those of the cluster, give to a user. */
export interface UserGrants {
  /** By the name of the binding. */
  readonly all: readonly Grant[];
  /** Of {@link UserGrants.all} the first of each role: the others allow nothing more. */
  readonly distinct: readonly Grant[];
  readonly missing: MissingRoles;
}

/** Most bindings that are sorted at once. */
const mostAtOnce = 256;

/** The grants that were found in one state of the index. Several requests share the work. */
export class SharedGrants {
  #found: FoundGrants | undefined;
  #making: Work<UserGrants> | undefined;
  #made: UserGrants | undefined;

  constructor(found: FoundGrants) {
    this.#found = found;
  }

  /** Undefined before {@link SharedGrants.making} has been done. */
  get made(): UserGrants | undefined {
    return this.#made;
  }

  /** Each caller continues the work until it is done. Roles that are missing in the `outer` grants, too, are counted there. */
  *making(outer?: UserGrants): Work<UserGrants> {
    while (this.#made === undefined) {
      const found = this.#found ?? noneFound;
      this.#making ??= settling(found, outer?.missing);
      const part = this.#next(this.#making);
      if (part.done) this.#finish(part.value);
      else if (found.bindings.length > mostAtOnce) yield;
    }
    return this.#made;
  }

  /** After an error the next caller begins again: a generator that failed would say that it is done, without grants. */
  #next(making: Work<UserGrants>): IteratorResult<void, UserGrants> {
    try {
      return making.next();
    } catch (error) {
      this.#making = undefined;
      throw error;
    }
  }

  #finish(made: UserGrants): void {
    this.#made = made;
    this.#making = undefined;
    this.#found = undefined;
  }
}

const noneFound: FoundGrants = { bindings: [], roles: [] };

function* settling({ bindings, roles }: FoundGrants, outer: MissingRoles | undefined): Work<UserGrants> {
  const sorted = yield* sorting(bindings, inOrder);
  const [all, distinct]: [Grant[], Grant[]] = [[], []];
  const given = new Set<StoredRole>();
  const missing = new MissingRoles(outer);
  let last: UserBinding | undefined;
  for (const by of sorted) {
    if (isPartDone()) yield;
    if (by.binding === last?.binding) continue;
    last = by;
    const role = roles[by.binding.place];
    if (role === undefined) {
      missing.add(by.binding.role);
      continue;
    }
    const grant: Grant = { by, role, reason: undefined };
    all.push(grant);
    if (given.has(role)) continue;
    given.add(role);
    distinct.push(grant);
  }
  return { all, distinct, missing };
}

/** By the name of the binding: bindings of one namespace have different names. */
function inOrder(a: UserBinding, b: UserBinding): number {
  return compareUtf8(a.binding.name, b.binding.name);
}

/** How many missing roles a text names. A name can be as long as a request has room for. */
const mostListed = { roles: 100, characters: 100_000 };

/** Roles that bindings refer to and that do not exist, each once. */
export class MissingRoles {
  readonly #outer: MissingRoles | undefined;
  readonly #known = new Set<string>();
  readonly #listed: RoleRef[] = [];
  #characters = 0;

  /** Those of `outer` come first. */
  constructor(outer?: MissingRoles) {
    this.#outer = outer;
    if (outer === undefined) return;
    this.#listed.push(...outer.#listed);
    this.#characters = outer.#characters;
  }

  /** How many there are. */
  get count(): number {
    return this.#known.size + (this.#outer?.count ?? 0);
  }

  /** The first ones. */
  get listed(): readonly RoleRef[] {
    return this.#listed;
  }

  add(role: RoleRef): void {
    const key = `${role.kind} ${role.name}`;
    if (this.#has(key)) return;
    const isFirst = this.count === this.#listed.length;
    this.#known.add(key);
    if (!isFirst || this.#listed.length === mostListed.roles) return;
    if (this.#characters + role.name.length > mostListed.characters) return;
    this.#listed.push(role);
    this.#characters += role.name.length;
  }

  #has(key: string): boolean {
    if (this.#known.has(key)) return true;
    return this.#outer === undefined ? false : this.#outer.#has(key);
  }

  /** The error about them; empty without any. `resource` is the name of their resource in the text. */
  text(resource?: (role: RoleRef) => string): string {
    const listed = missingRolesText(this.#listed, resource);
    const more = this.count - this.#listed.length;
    if (more === 0) return listed;
    const rest = `${more} more ${more === 1 ? "role" : "roles"} not found`;
    if (listed === "") return `[${rest}]`;
    return listed.startsWith("[") ? `${listed.slice(0, -1)}, ${rest}]` : `[${listed}, ${rest}]`;
  }
}
