// SPDX-License-Identifier: Apache-2.0
import { type ResourceName, type Status, StatusError } from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual } from "@purlin/kube-objects/json";
import { systemUser, type User } from "../auth/user.ts";
import { metaOf, withMeta } from "../objects/object-members.ts";
import type { Decision, Entry, Store, Transaction } from "../store/store.ts";
import { inStoredOrder } from "./object-codec.ts";
import type { RestRequest } from "./rest-context.ts";
import type { DeleteOptions } from "./write-options.ts";

/** A deletion that is about to happen. */
interface GuardedDeletion {
  readonly group: string;
  readonly kind: string;
  readonly object: JsonObject;
  readonly user: User;
  readonly policy: "Orphan" | "Background" | "Foreground";
  readonly stored: StoredObjects;
}

/** What is stored at the time of a deletion. */
interface StoredObjects {
  /** A cluster-scoped object; undefined when there is none. */
  get(resource: ResourceName, name: string): JsonObject | undefined;
  /** How many objects of a resource there are. */
  count(resource: ResourceName): number;
}

/** Why an object is not deleted. */
interface DeleteRefusal {
  readonly status: Status;
  /** Stored on the object, except by a dry run. */
  readonly annotations: Readonly<Record<string, string>>;
  /** The keys of the objects that forbid the deletion. */
  readonly because: readonly string[];
}

/** An object that is no longer protected. */
export interface ReleasedObject {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/**
 * Decides about deletions by objects of other kinds. It is asked in the turn that decides the deletion and follows those kinds in the order of
 * their writes: an object is protected from the write on that protects it.
 */
export interface DeleteGuard {
  /** The resources that it follows. */
  readonly resources: readonly ResourceName[];
  /** Called with each state of their objects; undefined for one that is deleted. */
  written(key: string, object: JsonObject | undefined): void;
  refusalOf(deletion: GuardedDeletion): DeleteRefusal | undefined;
  /** Calls the listener whenever an object loses its last protection. */
  onRelease(listener: (object: ReleasedObject) => void): void;
}

/** Lets a guard follow the kinds that it decides by. */
export function followGuarded(guard: DeleteGuard, store: Store<JsonObject>): void {
  for (const { group, resource } of guard.resources) {
    store.follow(`/${group}/${resource}/`, (key, entry) => guard.written(key, entry?.value));
  }
}

/**
 * Why the guard refuses to delete the object; undefined when it does not. The clean-up of a definition that is deleted, which the server does in
 * its own name, is not refused.
 */
export function guardRefusal(
  { guardDelete, type, request, store }: RestRequest,
  object: JsonObject,
  { propagation, orphanDependents }: DeleteOptions,
): DeleteRefusal | undefined {
  // The user itself and not its name, which others may impersonate.
  if (guardDelete === undefined || request.user === systemUser) return undefined;
  const policy = propagation ?? (orphanDependents === true ? "Orphan" : "Background");
  const stored = storedObjects(store);
  return guardDelete.refusalOf({ group: type.group, kind: type.kind, object, user: request.user, policy, stored });
}

function storedObjects(store: Store<JsonObject>): StoredObjects {
  return {
    get: ({ group, resource }, name) => store.get(`/${group}/${resource}/${name}`)?.value,
    count({ group, resource }) {
      const { entries, remaining } = store.list({ prefix: `/${group}/${resource}/`, limit: 1 });
      return entries.length + remaining;
    },
  };
}

/** Throws the refusal of a dry run, which stores nothing. */
export function requireUnguarded(rest: RestRequest, object: JsonObject, options: DeleteOptions): void {
  const refusal = guardRefusal(rest, object, options);
  if (refusal !== undefined) throw new StatusError(refusal.status);
}

/** Stores what a refusal records on the object, once everything that the refusal depends on is durable. */
export function recordRefusal(
  { type }: RestRequest,
  { annotations, because }: DeleteRefusal,
  { current, revision, peek }: Transaction<JsonObject>,
): Decision<JsonObject> {
  for (const key of because) peek(key);
  const { value, expiresAt } = current as Entry<JsonObject>;
  const before = metaOf(value).annotations ?? {};
  const after = { ...before, ...annotations };
  if (jsonEqual(before, after)) return { action: "keep" };
  const recorded = withMeta(value, { annotations: after, resourceVersion: String(revision) });
  return { action: "put", value: inStoredOrder(recorded, type), expiresAt };
}
