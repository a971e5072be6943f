// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { goQuote, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { metaOf } from "../../objects/object-members.ts";
import { ValuesByName } from "../../objects/values-by-name.ts";
import type { Change, Entry, Store, Watch } from "../../store/store.ts";
import type { RoleRef } from "../authorizer.ts";
import type { User } from "../user.ts";
import { RolePlaces, type RolesByPlace, roleKey, StoredRole } from "./stored-roles.ts";

/** A RoleBinding or ClusterRoleBinding. Its subjects are read from the store when they are needed: there can be tens of thousands. */
interface Binding {
  readonly name: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: RoleRef;
  /** Where the role is in {@link RolesByPlace}. */
  readonly place: number;
  readonly entry: Entry<JsonObject>;
}

/** A binding that names a user, by its name or by one of its groups. */
export interface UserBinding {
  readonly binding: Binding;
  readonly user: UserNames;
}

/** What bindings name a user by. */
interface UserNames {
  readonly name: string;
  readonly groups: ReadonlySet<string>;
}

/** Bindings that name a user, with all roles of that moment. */
export interface FoundGrants {
  /** In no order, and once for each name of the user that they name. */
  readonly bindings: readonly UserBinding[];
  readonly roles: RolesByPlace;
}

const rbacPrefix = "/rbac.authorization.k8s.io/";
const resources = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/** The bindings of a namespace by the users and the groups that they name. */
interface NamespaceBindings {
  readonly users: ValuesByName<Binding>;
  readonly groups: ValuesByName<Binding>;
}

/** The user or the group that a subject of a binding means. */
interface SubjectKey {
  readonly of: keyof NamespaceBindings;
  readonly name: string;
}

/**
 * The roles and bindings of a store, found by subject without a scan. Follows the store: a change of one object changes only
 * its own entries.
 */
export class RbacIndex {
  /** Increases with every change, so that results can be cached. */
  version = 0;
  readonly #store: Store<JsonObject>;
  readonly #roles = new RolePlaces();
  readonly #bindings = new Map<string, Binding>();
  readonly #byNamespace = new Map<string, NamespaceBindings>();
  #watch: Watch<JsonObject> | undefined;
  #hasChanges = true;
  #updates: Work<void> | undefined;

  constructor(store: Store<JsonObject>) {
    this.#store = store;
  }

  /** Whether there are changes to take: {@link refreshing} does, before anything is read. */
  get isStale(): boolean {
    return this.#hasChanges || this.#updates !== undefined;
  }

  /** Takes the changes since the last call. Several callers share the work: each continues it until it is done. */
  *refreshing(): Work<void> {
    while (this.isStale) {
      this.#updates ??= this.#updating();
      if (this.#continue(this.#updates)) this.#updates = undefined;
      else yield;
    }
  }

  #continue(updates: Work<void>): boolean {
    try {
      return updates.next().done === true;
    } catch (error) {
      this.#updates = undefined;
      throw error;
    }
  }

  *#updating(): Work<void> {
    this.#hasChanges = false;
    try {
      this.#watch ??= yield* this.#loading();
      for (let changes = this.#watch.take(); changes.length > 0; changes = this.#watch.take()) {
        yield* this.#taking(changes);
      }
    } catch {
      yield* this.#reloading();
    }
  }

  *#taking(changes: readonly Change<JsonObject>[]): Work<void> {
    this.version += 1;
    for (const { key, entry } of changes) yield* this.#setting(key, entry);
  }

  /** Reads everything again after the watch expired or was ended. If that fails too, the next call tries it: nothing outdated is served. */
  *#reloading(): Work<void> {
    this.#watch?.close();
    this.#watch = undefined;
    try {
      this.#watch = yield* this.#loading();
    } catch (error) {
      this.#hasChanges = true;
      throw error;
    }
  }

  close(): void {
    this.#watch?.close();
  }

  /** Undefined when the role does not exist. */
  roleOf(ref: RoleRef): StoredRole | undefined {
    return this.#roles.get(roleKey(ref));
  }

  /**
   * The bindings of a namespace that name the user or one of its groups, or those of the cluster for no namespace, and the roles: all as
   * they are now. With 100,000 bindings this takes some milliseconds: what is done with them should be divided.
   */
  grantsOf(user: User, namespace: string): FoundGrants {
    const bindings: UserBinding[] = [];
    const known = this.#byNamespace.get(namespace);
    if (known === undefined) return { bindings, roles: this.#roles.snapshot() };
    // A review can name the same group thousands of times.
    const names: UserNames = { name: user.name, groups: new Set(user.groups) };
    const add = (found: readonly Binding[]): void => {
      for (const binding of found) bindings.push({ binding, user: names });
    };
    add(known.users.of(user.name));
    for (const group of names.groups) add(known.groups.of(group));
    return { bindings, roles: this.#roles.snapshot() };
  }

  *#loading(): Work<Watch<JsonObject>> {
    this.version += 1;
    this.#roles.clear();
    this.#bindings.clear();
    this.#byNamespace.clear();
    const after = this.#store.revision;
    const onReady = (): void => {
      this.#hasChanges = true;
    };
    const watch = this.#store.watch({ scope: rbacPrefix, after, onReady });
    try {
      for (const resource of resources) {
        const { entries } = this.#store.list({ prefix: `${rbacPrefix}${resource}/`, revision: after });
        yield;
        for (const entry of entries) yield* this.#setting(entry.key, entry);
      }
    } catch (error) {
      watch.close();
      throw error;
    }
    return watch;
  }

  *#setting(key: string, entry: Entry<JsonObject> | undefined): Work<void> {
    const [, , resource = "", ...place] = key.split("/");
    if (resource === "clusterroles" || resource === "roles") {
      const id = resource === "roles" ? place.join("/") : `/${place.join("/")}`;
      this.#roles.set(id, entry && new StoredRole(entry));
      return;
    }
    const old = this.#bindings.get(key);
    if (old !== undefined) yield* this.#unbinding(old, key);
    if (entry !== undefined) yield* this.#adding(key, entry);
  }

  *#adding(key: string, entry: Entry<JsonObject>): Work<void> {
    const { name = "", namespace = "" } = metaOf(entry.value);
    const role = roleRefOf(entry.value, namespace);
    const binding: Binding = { name, namespace, role, place: this.#roles.enter(roleKey(role)), entry };
    this.#bindings.set(key, binding);
    const known = this.#byNamespace.get(namespace) ?? { users: new ValuesByName(), groups: new ValuesByName() };
    this.#byNamespace.set(namespace, known);
    for (const listed of subjectsOf(binding)) {
      const subject = subjectKey(listed, binding);
      if (subject !== undefined) known[subject.of].add(subject.name, binding);
      if (isPartDone()) yield;
    }
  }

  *#unbinding(binding: Binding, key: string): Work<void> {
    this.#bindings.delete(key);
    this.#roles.leave(roleKey(binding.role));
    const known = this.#byNamespace.get(binding.namespace);
    if (known === undefined) return;
    for (const listed of subjectsOf(binding)) {
      const subject = subjectKey(listed, binding);
      if (subject !== undefined) known[subject.of].delete(subject.name, binding);
      if (isPartDone()) yield;
    }
    if (known.users.size + known.groups.size === 0) this.#byNamespace.delete(binding.namespace);
  }
}

/** The role that a binding refers to. */
export function roleRefOf(binding: JsonObject, namespace: string): RoleRef {
  const kind = stringAt(binding, ["roleRef", "kind"]);
  return { kind, name: stringAt(binding, ["roleRef", "name"]), namespace: kind === "Role" ? namespace : "" };
}

function subjectsOf({ entry }: Binding): readonly JsonValue[] {
  const listed = memberAt(entry.value, ["subjects"]);
  return Array.isArray(listed) ? listed : [];
}

/** Undefined for what is not a subject. */
function subjectKey(subject: JsonValue, { namespace }: Binding): SubjectKey | undefined {
  if (!isJsonObject(subject)) return undefined;
  const [kind, name] = [stringAt(subject, ["kind"]), stringAt(subject, ["name"])];
  if (kind === "Group") return { of: "groups", name };
  if (kind !== "ServiceAccount") return { of: "users", name };
  return { of: "users", name: `system:serviceaccount:${stringAt(subject, ["namespace"]) || namespace}:${name}` };
}

/** The first subject of a binding that names the user, as reasons print it. */
export function* printingSubject({ binding, user }: UserBinding): Work<string> {
  for (const listed of subjectsOf(binding)) {
    if (isPartDone()) yield;
    const subject = subjectKey(listed, binding);
    if (subject === undefined || !isJsonObject(listed)) continue;
    if (subject.of === "users" ? subject.name === user.name : user.groups.has(subject.name)) {
      return subjectText(listed, binding);
    }
  }
  return subjectText({}, binding);
}

function subjectText(subject: JsonObject, binding: Binding): string {
  const text = (member: string): string => stringAt(subject, [member]);
  return text("kind") === "ServiceAccount"
    ? `ServiceAccount ${goQuote(`${text("name")}/${text("namespace") || binding.namespace}`)}`
    : `${text("kind")} ${goQuote(text("name"))}`;
}
