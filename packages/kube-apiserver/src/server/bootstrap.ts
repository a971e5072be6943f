// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import { objectKey } from "../registry/registry.ts";

import type { Store } from "../store/store.ts";
import type { KindDefinition } from "../strategy/kind-rules.ts";
import { type InternalClient, resourcePath } from "./internal-client.ts";

interface BootstrapOptions {
  readonly client: InternalClient;
  readonly kinds: readonly KindDefinition[];
  readonly store: Store<JsonObject>;
}

/** Creates missing objects that every cluster has, and completes those that exist. When all is there, a start writes nothing. */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const isNamespace = ({ type }: KindDefinition): boolean => type.resource === "namespaces" && type.group === "";
  // Namespaces first: other objects are created in them.
  for (const kinds of [options.kinds.filter(isNamespace), options.kinds.filter((kind) => !isNamespace(kind))]) {
    await Promise.all(
      kinds.flatMap((kind) => (kind.initialObjects ?? []).map((object) => ensure(options, kind, object))),
    );
  }
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
