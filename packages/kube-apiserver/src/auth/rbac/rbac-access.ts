// SPDX-License-Identifier: Apache-2.0
import { compareUtf8, goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { metaOf } from "../../objects/object-members.ts";
import type { Store, Watch } from "../../store/store.ts";
import {
  type AccessAttributes,
  type AccessDecision,
  type Authorizer,
  missingRolesText,
  type PolicyRule,
  type RoleRef,
  type RuleSet,
  ruleAllows,
  rulesOfRole,
} from "../authorizer.ts";
import { mastersGroup, type User } from "../user.ts";

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

/** A RoleBinding or ClusterRoleBinding. */
export interface Binding {
  readonly name: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: RoleRef;
  readonly subjects: readonly Subject[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

const rbacPrefix = "/rbac.authorization.k8s.io/";
const resources = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/**
 * The roles and bindings of a store, found by subject without a scan. Follows the store: a change of one object changes only
 * its own entries.
 */
export class RbacIndex {
  /** Increases with every change, so that results can be cached. */
  version = 0;
  readonly #store: Store<JsonObject>;
  readonly #roles = new Map<string, readonly PolicyRule[]>();
  readonly #bindings = new Map<string, Binding>();
  /** The keys of bindings by namespace, then by subject. */
  readonly #bySubject = new Map<string, Map<string, Set<string>>>();
  #watch: Watch<JsonObject> | undefined;
  #hasChanges = true;

  constructor(store: Store<JsonObject>) {
    this.#store = store;
  }

  /** Takes the changes since the last call. Costs nothing when there are none. */
  refresh(): void {
    if (!this.#hasChanges) return;
    this.#hasChanges = false;
    try {
      this.#watch ??= this.#load();
      for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
        this.version += 1;
        for (const { key, entry } of changes) this.#set(key, entry?.value);
      }
    } catch {
      this.#reload();
    }
  }

  /** Reads everything again after the watch expired or was ended. If that fails too, the next call tries it: nothing outdated is served. */
  #reload(): void {
    this.#watch?.close();
    this.#watch = undefined;
    try {
      this.#watch = this.#load();
    } catch (error) {
      this.#hasChanges = true;
      throw error;
    }
  }

  close(): void {
    this.#watch?.close();
  }

  /** The rules of a role; undefined when it does not exist. */
  rulesOf({ kind, name, namespace }: RoleRef): readonly PolicyRule[] | undefined {
    return this.#roles.get(kind === "ClusterRole" ? `/${name}` : `${namespace}/${name}`);
  }

  /** The bindings of a namespace that name the user or one of its groups, by name; those of the cluster for no namespace. */
  bindingsOf(user: User, namespace: string): Binding[] {
    const keys = new Set<string>();
    const bySubject = this.#bySubject.get(namespace);
    if (bySubject === undefined) return [];
    const subjects = [`User ${user.name}`, ...user.groups.map((group) => `Group ${group}`)];
    for (const subject of subjects) {
      for (const key of bySubject.get(subject) ?? []) keys.add(key);
    }
    return [...keys].flatMap((key) => this.#bindings.get(key) ?? []).sort((a, b) => compareUtf8(a.name, b.name));
  }

  #load(): Watch<JsonObject> {
    this.version += 1;
    this.#roles.clear();
    this.#bindings.clear();
    this.#bySubject.clear();
    const after = this.#store.revision;
    for (const resource of resources) {
      const { entries } = this.#store.list({ prefix: `${rbacPrefix}${resource}/`, revision: after });
      for (const { key, value } of entries) this.#set(key, value);
    }
    const onReady = (): void => {
      this.#hasChanges = true;
    };
    return this.#store.watch({ scope: rbacPrefix, after, onReady });
  }

  #set(key: string, object: JsonObject | undefined): void {
    const [, , resource = "", ...place] = key.split("/");
    if (resource === "clusterroles" || resource === "roles") {
      const id = resource === "roles" ? place.join("/") : `/${place.join("/")}`;
      if (object === undefined) this.#roles.delete(id);
      else this.#roles.set(id, rulesOfRole(object));
      return;
    }
    const old = this.#bindings.get(key);
    if (old !== undefined) this.#unbind(old, key);
    this.#bindings.delete(key);
    if (object === undefined) return;
    const binding = bindingOf(object);
    this.#bindings.set(key, binding);
    const bySubject = this.#bySubject.get(binding.namespace) ?? new Map<string, Set<string>>();
    this.#bySubject.set(binding.namespace, bySubject);
    for (const subject of subjectKeys(binding)) bySubject.set(subject, (bySubject.get(subject) ?? new Set()).add(key));
  }

  #unbind(binding: Binding, key: string): void {
    const bySubject = this.#bySubject.get(binding.namespace);
    for (const subject of subjectKeys(binding)) {
      const keys = bySubject?.get(subject);
      keys?.delete(key);
      if (keys?.size === 0) bySubject?.delete(subject);
    }
    if (bySubject?.size === 0) this.#bySubject.delete(binding.namespace);
  }
}

/** The role that a binding refers to. */
export function roleRefOf(binding: JsonObject, namespace: string): RoleRef {
  const kind = stringAt(binding, ["roleRef", "kind"]);
  return { kind, name: stringAt(binding, ["roleRef", "name"]), namespace: kind === "Role" ? namespace : "" };
}

function bindingOf(object: JsonObject): Binding {
  const { name = "", namespace = "" } = metaOf(object);
  const subjects = memberAt(object, ["subjects"]);
  return {
    name,
    namespace,
    role: roleRefOf(object, namespace),
    subjects: (Array.isArray(subjects) ? subjects.filter(isJsonObject) : []).map((subject) => ({
      kind: stringAt(subject, ["kind"]),
      name: stringAt(subject, ["name"]),
      namespace: stringAt(subject, ["namespace"]),
    })),
  };
}

function* subjectKeys(binding: Binding): Generator<string> {
  for (const subject of binding.subjects) {
    if (subject.kind === "Group") yield `Group ${subject.name}`;
    else yield `User ${userNameOf(subject, binding)}`;
  }
}

/** The name of the user that a subject stands for. */
function userNameOf({ kind, name, namespace }: Subject, binding: Binding): string {
  return kind === "ServiceAccount" ? `system:serviceaccount:${namespace || binding.namespace}:${name}` : name;
}

/** The first subject of a binding that names the user, as reasons print it; undefined when none does. */
export function subjectText(binding: Binding, user: User): string | undefined {
  const subject = binding.subjects.find((one) =>
    one.kind === "Group" ? user.groups.includes(one.name) : userNameOf(one, binding) === user.name,
  );
  if (subject === undefined) return undefined;
  const { kind, name, namespace } = subject;
  return kind === "ServiceAccount"
    ? `${kind} ${goQuote(`${name}/${namespace || binding.namespace}`)}`
    : `${kind} ${goQuote(name)}`;
}
