// SPDX-License-Identifier: Apache-2.0
import { goQuote, type JsonObject } from "@purlin/kube-objects/json";
import type { Store } from "../../store/store.ts";
import type { AccessAttributes, AccessDecision, Authorizer } from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";
import { missingRolesText, type PolicyRule, type RoleRef, type RuleSet, ruleAllows } from "./policy-rule.ts";
import { type Binding, RbacIndex, subjectText } from "./rbac-index.ts";

/** Rules that a binding gives to a user, and the reason to print for them. A role that does not exist gives none. */
interface Grant {
  readonly reason: string;
  readonly rules: readonly PolicyRule[];
  readonly missing: RoleRef | undefined;
}

/** The grants of one user, by namespace; those of the cluster are under the empty name. */
type Grants = Map<string, readonly Grant[]>;

/** Users whose grants are cached. The cache is emptied when it is full. */
const mostUsers = 2000;
const mostNamespaces = 2000;

/** Decides by the Roles, ClusterRoles and bindings of the store. */
export class RbacAccess {
  readonly #index: RbacIndex;
  readonly #grants = new Map<string, Grants>();
  #version = -1;

  constructor(store: Store<JsonObject>) {
    this.#index = new RbacIndex(store);
  }

  /** Members of `system:masters` may do everything; others what the first rule in the order of the bindings allows. */
  readonly authorize: Authorizer = (user, access) => {
    if (user.groups.includes(mastersGroup)) return allowedAlways;
    const grants = this.#grantsOf(user);
    const namespace = access.kind === "resource" ? access.namespace : "";
    const found = allowing(this.#in(grants, user, ""), access);
    if (found !== undefined) return { allowed: true, reason: found.reason };
    const own = namespace === "" ? undefined : allowing(this.#in(grants, user, namespace), access);
    if (own !== undefined) return { allowed: true, reason: own.reason };
    const missing = missingRolesText(this.#all(user, namespace).flatMap((grant) => grant.missing ?? []));
    return { allowed: false, reason: missing === "" ? "" : `RBAC: ${missing}` };
  };

  /** All rules of a user in a namespace, in the order in which they are asked. */
  readonly rulesFor = (user: User, namespace: string): RuleSet => {
    const all = this.#all(user, namespace);
    return { rules: all.flatMap(({ rules }) => rules), missing: all.flatMap(({ missing }) => missing ?? []) };
  };

  /** The rules of a role; undefined when it does not exist. */
  rulesOf(role: RoleRef): readonly PolicyRule[] | undefined {
    this.#index.refresh();
    return this.#index.rulesOf(role);
  }

  close(): void {
    this.#index.close();
  }

  #all(user: User, namespace: string): readonly Grant[] {
    const grants = this.#grantsOf(user);
    return [...this.#in(grants, user, ""), ...(namespace === "" ? [] : this.#in(grants, user, namespace))];
  }

  /** The cached grants of a user, as of the newest change. */
  #grantsOf(user: User): Grants {
    this.#index.refresh();
    if (this.#version !== this.#index.version) {
      this.#version = this.#index.version;
      this.#grants.clear();
    }
    const key = userKey(user);
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
    const made = this.#index.bindingsOf(user, namespace).map((binding) => this.#grantOf(binding, user));
    grants.set(namespace, made);
    return made;
  }

  #grantOf(binding: Binding, user: User): Grant {
    const { role, name, namespace } = binding;
    const rules = this.#index.rulesOf(role);
    const what =
      namespace === "" ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
    return {
      reason: `RBAC: allowed by ${what} of ${role.kind} ${goQuote(role.name)} to ${subjectText(binding, user)}`,
      rules: rules ?? [],
      missing: rules === undefined ? role : undefined,
    };
  }
}

const allowedAlways: AccessDecision = { allowed: true, reason: "" };

function allowing(grants: readonly Grant[], access: AccessAttributes): Grant | undefined {
  return grants.find(({ rules }) => rules.some((rule) => ruleAllows(rule, access)));
}

/** Users with the same name and groups have the same rights. Names may contain any character, so a plain join is ambiguous. */
function userKey({ name, groups }: User): string {
  return JSON.stringify([name, groups]);
}
