// SPDX-License-Identifier: Apache-2.0
import type { Work } from "@purlin/base";
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import type { Store } from "../../store/store.ts";
import {
  type AccessAttributes,
  type AccessDecision,
  type Authorizing,
  missingRolesText,
  type RoleRef,
  type RuleResolver,
  type RuleSet,
} from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";
import { RbacIndex, type StoredRole, subjectText, type UserBinding } from "./rbac-index.ts";
import { type RuleIndex, soughtAccess } from "./rule-index.ts";

/** A role that a binding gives to a user; undefined when it does not exist, so that the binding gives nothing. */
interface Grant {
  readonly by: UserBinding;
  readonly role: StoredRole | undefined;
}

/** The grants of one user, by namespace; those of the cluster are under the empty name. */
type Grants = Map<string, readonly Grant[]>;

/** What a user holds in a namespace, in the order in which it is looked at. */
interface Held {
  readonly rules: readonly RuleIndex[];
  /** Roles that bindings of the user refer to and that do not exist. */
  readonly missing: readonly RoleRef[];
}

/** Users whose grants are cached. The cache is emptied when it is full. */
const mostUsers = 2000;
const mostNamespaces = 2000;
/** Reviews can be about a user with a long name, or with thousands of groups: such users are not cached. */
const longestCachedUser = 4096;

/** Steps that are worth a look at the clock: far more than most users need for a decision. */
const manySteps = 1000;

/** Decides by the Roles, ClusterRoles and bindings of the store. */
export class RbacAccess {
  readonly #index: RbacIndex;
  readonly #grants = new Map<string, Grants>();
  #version = -1;

  constructor(store: Store<JsonObject>) {
    this.#index = new RbacIndex(store);
  }

  /** Members of `system:masters` may do everything; others what the first rule in the order of the bindings allows. */
  readonly authorizing: Authorizing = (user, access) => this.#authorizing(user, access);

  /** All rules of a user in a namespace, in the order in which they are looked at. */
  readonly rulesFor: RuleResolver = (user, namespace) => this.#resolving(user, namespace);

  *holding(user: User, namespace: string): Work<Held> {
    const grants = yield* this.#granting(user, namespace);
    const rules: RuleIndex[] = [];
    for (const { role } of grants) if (role !== undefined) rules.push(yield* role.indexing());
    return { rules, missing: missingOf(grants) };
  }

  /** The rules of a role; undefined when it does not exist. */
  *readingRole(ref: RoleRef): Work<RuleIndex | undefined> {
    yield* this.#index.refreshing();
    const role = this.#index.roleOf(ref);
    return role && (yield* role.indexing());
  }

  close(): void {
    this.#index.close();
  }

  *#resolving(user: User, namespace: string): Work<RuleSet> {
    const { rules, missing } = yield* this.holding(user, namespace);
    return { rules: rules.map((index) => index.rules), missing };
  }

  *#authorizing(user: User, access: AccessAttributes): Work<AccessDecision> {
    if (user.groups.includes(mastersGroup)) return { allowed: true, reason: "" };
    const grants = yield* this.#granting(user, access.kind === "resource" ? access.namespace : "");
    const wanted = soughtAccess(access);
    let steps = 0;
    for (const grant of grants) {
      if (grant.role === undefined) continue;
      const rules = grant.role.rules ?? (yield* grant.role.indexing());
      if (rules.has(wanted)) return { allowed: true, reason: reasonOf(grant.by) };
      steps += rules.steps;
      if (steps <= manySteps) continue;
      steps = 0;
      yield;
    }
    const missing = missingRolesText(missingOf(grants));
    return { allowed: false, reason: missing === "" ? "" : `RBAC: ${missing}` };
  }

  /** The grants of a user as of the newest change: those of the cluster, then those of the namespace. */
  *#granting(user: User, namespace: string): Work<readonly Grant[]> {
    if (this.#index.isStale) yield* this.#index.refreshing();
    // From here on nothing yields, so that all grants are of one state.
    const grants = this.#grantsOf(user);
    const ofCluster = this.#in(grants, user, "");
    return namespace === "" ? ofCluster : [...ofCluster, ...this.#in(grants, user, namespace)];
  }

  #grantsOf(user: User): Grants {
    if (this.#version !== this.#index.version) {
      this.#version = this.#index.version;
      this.#grants.clear();
    }
    const key = userKey(user);
    if (key.length > longestCachedUser) return new Map();
    const known = this.#grants.get(key);
    if (known !== undefined) return known;
    if (this.#grants.size >= mostUsers) this.#grants.clear();
    const made: Grants = new Map();
    this.#grants.set(key, made);
    return made;
  }

  #in(grants: Grants, user: User, namespace: string): readonly Grant[] {
    const known = grants.get(namespace);
    if (known !== undefined) return known;
    if (grants.size >= mostNamespaces) grants.clear();
    const bindings = this.#index.bindingsOf(user, namespace);
    const made = bindings.map((by) => ({ by, role: this.#index.roleOf(by.binding.role) }));
    grants.set(namespace, made);
    return made;
  }
}

function missingOf(grants: readonly Grant[]): RoleRef[] {
  return grants.filter(({ role }) => role === undefined).map(({ by }) => by.binding.role);
}

function reasonOf(by: UserBinding): string {
  const { name, namespace, role } = by.binding;
  const what =
    namespace === "" ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
  return `RBAC: allowed by ${what} of ${role.kind} ${goQuote(role.name)} to ${subjectText(by)}`;
}

/** Users with the same name and groups have the same rights. Names may contain any character, so a plain join is ambiguous. */
function userKey({ name, groups }: User): string {
  return JSON.stringify([name, groups]);
}
