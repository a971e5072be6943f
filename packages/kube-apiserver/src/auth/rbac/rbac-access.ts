// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import type { Store } from "../../store/store.ts";
import type { AccessAttributes, AccessDecision, Authorizing, RoleRef, RuleResolver, RuleSet } from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";
import { printingSubject, RbacIndex, type UserBinding } from "./rbac-index.ts";
import { type RuleIndex, soughtAccess } from "./rule-index.ts";
import { type MissingRoles, SharedGrants, type UserGrants } from "./user-grants.ts";

/** The grants of one user, by namespace; those of the cluster are under the empty name. */
type GrantsByNamespace = Map<string, SharedGrants>;

/** The grants of a user in the cluster and in a namespace, of one state. */
interface Held {
  readonly ofCluster: UserGrants;
  /** Those of the cluster again where there is no namespace. */
  readonly own: UserGrants;
}

/** What a user holds in a namespace, in the order in which it is looked at. */
interface HeldRules {
  readonly rules: readonly RuleIndex[];
  /** Roles that bindings of the user refer to and that do not exist. */
  readonly missing: MissingRoles;
}

/** Users whose grants are cached. The cache is emptied when it is full. */
const mostUsers = 2000;
const mostNamespaces = 2000;
/** Grants that are cached, of all users together: a group of all users can have very many bindings. */
const mostGrants = 500_000;
/** Reviews can be about a user with a long name, or with thousands of groups: such users are not cached. */
const longestCachedUser = 4096;

/** Steps that are worth a look at the clock: far more than most users need for a decision. */
const manySteps = 1000;

/** Decides by the Roles, ClusterRoles and bindings of the store. */
export class RbacAccess {
  readonly #index: RbacIndex;
  readonly #grants = new Map<string, GrantsByNamespace>();
  /** How many grants are cached. */
  #cached = 0;
  #version = -1;

  constructor(store: Store<JsonObject>) {
    this.#index = new RbacIndex(store);
  }

  /** Members of `system:masters` may do everything; others what the first rule in the order of the bindings allows. */
  readonly authorizing: Authorizing = (user, access) => this.#authorizing(user, access);

  /** All rules of a user in a namespace, in the order in which they are looked at. */
  readonly rulesFor: RuleResolver = (user, namespace) => this.#resolving(user, namespace);

  *holding(user: User, namespace: string): Work<HeldRules> {
    const { ofCluster, own } = yield* this.#granting(user, namespace);
    const rules: RuleIndex[] = [];
    for (const grants of inOrder(ofCluster, own)) {
      for (const { role } of grants.all) {
        rules.push(role.rules ?? (yield* role.indexing()));
        if (isPartDone()) yield;
      }
    }
    return { rules, missing: own.missing };
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
    return { rules: rules.map((index) => index.rules), missing: missing.listed };
  }

  *#authorizing(user: User, access: AccessAttributes): Work<AccessDecision> {
    if (user.groups.includes(mastersGroup)) return { allowed: true, reason: "" };
    const { ofCluster, own } = yield* this.#granting(user, access.kind === "resource" ? access.namespace : "");
    const wanted = soughtAccess(access);
    let steps = 0;
    for (const grants of inOrder(ofCluster, own)) {
      for (const grant of grants.distinct) {
        const rules = grant.role.rules ?? (yield* grant.role.indexing());
        if (rules.has(wanted)) {
          grant.reason ??= yield* printingReason(grant.by);
          return { allowed: true, reason: grant.reason };
        }
        steps += rules.steps;
        if (steps <= manySteps) continue;
        steps = 0;
        yield;
      }
    }
    const missing = own.missing.text();
    return { allowed: false, reason: missing === "" ? "" : `RBAC: ${missing}` };
  }

  /** The grants of a user as of the newest change. */
  *#granting(user: User, namespace: string): Work<Held> {
    if (this.#index.isStale) yield* this.#index.refreshing();
    // Until the grants are found nothing yields, so that all are of one state.
    const grants = this.#grantsOf(user);
    const cluster = this.#in(grants, user, "");
    const local = namespace === "" ? cluster : this.#in(grants, user, namespace);
    const ofCluster = cluster.made ?? (yield* cluster.making());
    return { ofCluster, own: local.made ?? (yield* local.making(ofCluster)) };
  }

  #grantsOf(user: User): GrantsByNamespace {
    if (this.#version !== this.#index.version) {
      this.#version = this.#index.version;
      this.#forget();
    }
    const key = userKey(user);
    if (key.length > longestCachedUser) return new Map();
    const known = this.#grants.get(key);
    if (known !== undefined) return known;
    if (this.#grants.size >= mostUsers || this.#cached > mostGrants) this.#forget();
    const made: GrantsByNamespace = new Map();
    this.#grants.set(key, made);
    return made;
  }

  #in(grants: GrantsByNamespace, user: User, namespace: string): SharedGrants {
    const known = grants.get(namespace);
    if (known !== undefined) return known;
    if (grants.size >= mostNamespaces) grants.clear();
    const found = this.#index.grantsOf(user, namespace);
    const made = new SharedGrants(found);
    this.#cached += found.bindings.length;
    grants.set(namespace, made);
    return made;
  }

  #forget(): void {
    this.#grants.clear();
    this.#cached = 0;
  }
}

/** The grants in the order in which they are looked at. */
function inOrder(ofCluster: UserGrants, own: UserGrants): readonly UserGrants[] {
  return own === ofCluster ? [own] : [ofCluster, own];
}

function* printingReason(by: UserBinding): Work<string> {
  const { name, namespace, role } = by.binding;
  const what =
    namespace === "" ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
  const subject = yield* printingSubject(by);
  return `RBAC: allowed by ${what} of ${role.kind} ${goQuote(role.name)} to ${subject}`;
}

/** Users with the same name and groups have the same rights. Names may contain any character, so a plain join is ambiguous. */
function userKey({ name, groups }: User): string {
  return JSON.stringify([name, groups]);
}
