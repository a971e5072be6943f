// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import { objectKey } from "../registry/registry.ts";

import type { Store } from "../store/store.ts";
import type { KindDefinition } from "../strategy/kind-rules.ts";
import { type InternalClient, resourcePath } from "./controller-kit.ts";

interface BootstrapOptions {
  readonly client: InternalClient;
  readonly kinds: readonly KindDefinition[];
  readonly store: Store<JsonObject>;
}

/**
 * Creates missing namespaces that every cluster has, and completes those that exist. When all is there, a start writes nothing. Other
 * objects are created in these namespaces.
 */
export async function bootstrapNamespaces(options: BootstrapOptions): Promise<void> {
  await ensureAll(options, initialObjects(options.kinds.filter(isNamespace)));
}

/** Does the same for all other objects but roles and their bindings. */
export async function bootstrapObjects(options: BootstrapOptions): Promise<void> {
  await ensureAll(options, initialObjects(options.kinds.filter((kind) => !isNamespace(kind) && !isRole(kind))));
}

/** Stored together. The server listens and answers in between: the roles are more than a hundred. */
const rolesAtOnce = 4;

/** Does the same for roles and their bindings. */
export async function bootstrapRoles(options: BootstrapOptions): Promise<void> {
  const roles = initialObjects(options.kinds.filter(isRole));
  for (let done = 0; done < roles.length; done += rolesAtOnce) {
    await ensureAll(options, roles.slice(done, done + rolesAtOnce));
  }
}

const isNamespace = ({ type }: KindDefinition): boolean => type.resource === "namespaces" && type.group === "";
const isRole = ({ type }: KindDefinition): boolean => type.group === "rbac.authorization.k8s.io";

type InitialObject = readonly [KindDefinition, JsonObject];

function initialObjects(kinds: readonly KindDefinition[]): InitialObject[] {
  return kinds.flatMap((kind) => (kind.initialObjects ?? []).map((object) => [kind, object] as const));
}

async function ensureAll(options: BootstrapOptions, objects: readonly InitialObject[]): Promise<void> {
  await Promise.all(objects.map(([kind, object]) => ensure(options, kind, object)));
}

async function ensure(
  { client, store }: BootstrapOptions,
  { type, reconcileInitial }: KindDefinition,
  wanted: JsonObject,
): Promise<void> {
  const { namespace = "", name = "" } = metaOf(wanted);
  const existing = store.get(objectKey(type, namespace, name))?.value;
  const collection = resourcePath(type, namespace);
  if (existing === undefined) return createMissing(client, collection, wanted);
  if (reconcileInitial === undefined) return;
  const object = `${collection}/${encodeURIComponent(name)}`;
  const reconciled = reconcileInitial(existing, wanted);
  if (reconciled === existing) return;
  if (reconciled !== undefined) {
    await client.send("PUT", object, { body: reconciled });
    return;
  }
  await client.delete(object);
  await createMissing(client, collection, wanted);
}

/** Creates an object unless it is there. */
export async function createMissing(client: InternalClient, path: string, object: JsonObject): Promise<void> {
  try {
    await client.send("POST", path, { body: object });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
