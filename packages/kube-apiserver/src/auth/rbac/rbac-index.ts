// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { metaOf } from "../../objects/object-members.ts";
import type { Change, Entry, Store, Watch } from "../../store/store.ts";
import type { RoleRef } from "../authorizer.ts";
import type { User } from "../user.ts";
import { RolePlaces, type RolesByPlace, roleKey, StoredRole } from "./stored-roles.ts";

/** A RoleBinding or ClusterRoleBinding. */
interface Binding {
  readonly name: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly role: RoleRef;
  /** Where the role is in {@link RolesByPlace}. */
  readonly place: number;
  readonly subjects: readonly Subject[];
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
}

/** A binding that names a user. */
export interface UserBinding {
  readonly binding: Binding;
  /** The position of its first subject that names the user. */
  readonly subject: number;
}

/** Bindings that name a user, with all roles of that moment. */
export interface FoundGrants {
  /** In no order, and once for each name of the user. */
  readonly bindings: readonly UserBinding[];
  readonly roles: RolesByPlace;
}

const rbacPrefix = "/rbac.authorization.k8s.io/";
const resources = ["clusterroles", "clusterrolebindings", "roles", "rolebindings"];

/** Bindings by their keys, each with its first subject that is meant. */
type BindingsByKey = Map<string, UserBinding>;

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
  /** By namespace, then by subject. */
  readonly #bySubject = new Map<string, Map<string, BindingsByKey>>();
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
    const bySubject = this.#bySubject.get(namespace);
    const add = (subject: string): void => {
      const found = bySubject?.get(subject);
      if (found !== undefined) for (const binding of found.values()) bindings.push(binding);
    };
    add(`User ${user.name}`);
    // A review can name the same group thousands of times.
    for (const group of new Set(user.groups)) add(`Group ${group}`);
    return { bindings, roles: this.#roles.snapshot() };
  }

  *#loading(): Work<Watch<JsonObject>> {
    this.version += 1;
    this.#roles.clear();
    this.#bindings.clear();
    this.#bySubject.clear();
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
    if (entry !== undefined) yield* this.#adding(key, entry.value);
  }

  *#adding(key: string, object: JsonObject): Work<void> {
    const read = yield* readingBinding(object);
    const binding: Binding = { ...read, place: this.#roles.enter(roleKey(read.role)) };
    this.#bindings.set(key, binding);
    const bySubject = this.#bySubject.get(binding.namespace) ?? new Map<string, BindingsByKey>();
    this.#bySubject.set(binding.namespace, bySubject);
    for (const [position, subject] of binding.subjects.entries()) {
      const name = subjectKey(subject, binding);
      const bindings = bySubject.get(name);
      if (bindings === undefined) bySubject.set(name, new Map([[key, { binding, subject: position }]]));
      else if (!bindings.has(key)) bindings.set(key, { binding, subject: position });
      if (isPartDone()) yield;
    }
  }

  *#unbinding(binding: Binding, key: string): Work<void> {
    this.#bindings.delete(key);
    this.#roles.leave(roleKey(binding.role));
    const bySubject = this.#bySubject.get(binding.namespace);
    for (const subject of binding.subjects) {
      const name = subjectKey(subject, binding);
      const bindings = bySubject?.get(name);
      bindings?.delete(key);
      if (bindings?.size === 0) bySubject?.delete(name);
      if (isPartDone()) yield;
    }
    if (bySubject?.size === 0) this.#bySubject.delete(binding.namespace);
  }
}

/** The role that a binding refers to. */
export function roleRefOf(binding: JsonObject, namespace: string): RoleRef {
  const kind = stringAt(binding, ["roleRef", "kind"]);
  return { kind, name: stringAt(binding, ["roleRef", "name"]), namespace: kind === "Role" ? namespace : "" };
}

function* readingBinding(object: JsonObject): Work<Omit<Binding, "place">> {
  const { name = "", namespace = "" } = metaOf(object);
  const listed = memberAt(object, ["subjects"]);
  const subjects: Subject[] = [];
  for (const subject of Array.isArray(listed) ? listed : []) {
    if (isPartDone()) yield;
    if (!isJsonObject(subject)) continue;
    const text = (member: string): string => stringAt(subject, [member]);
    subjects.push({ kind: text("kind"), name: text("name"), namespace: text("namespace") });
  }
  return { name, namespace, role: roleRefOf(object, namespace), subjects };
}

function subjectKey(subject: Subject, { namespace }: Binding): string {
  if (subject.kind === "Group") return `Group ${subject.name}`;
  if (subject.kind !== "ServiceAccount") return `User ${subject.name}`;
  return `User system:serviceaccount:${subject.namespace || namespace}:${subject.name}`;
}

/** The subject of a binding that names the user, as reasons print it. */
export function subjectText({ binding, subject }: UserBinding): string {
  const { kind = "", name = "", namespace = "" } = binding.subjects[subject] ?? {};
  return kind === "ServiceAccount"
    ? `${kind} ${goQuote(`${name}/${namespace || binding.namespace}`)}`
    : `${kind} ${goQuote(name)}`;
}
