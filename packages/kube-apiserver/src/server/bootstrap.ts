// SPDX-License-Identifier: Apache-2.0
import { isAlreadyExists } from "@purlin/kube-objects/errors";
import type { JsonObject } from "@purlin/kube-objects/json";
import { metaOf } from "../objects/object-meta.ts";
import { objectKey, type ResourceType } from "../registry/resource-type.ts";

import type { Store } from "../store/store.ts";
import type { KindDefinition } from "../strategy/kind-rules.ts";
import { type InternalClient, resourcePath } from "./internal-client.ts";

interface BootstrapOptions {
  readonly client: InternalClient;
  readonly kinds: readonly KindDefinition[];
  readonly store: Store<JsonObject>;
}

/** Creates missing objects that every cluster has. When all exist, a start reads each of them and writes nothing. */
export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const isNamespace = ({ type }: KindDefinition): boolean => type.resource === "namespaces" && type.group === "";
  // Namespaces first: other objects are created in them.
  for (const kinds of [options.kinds.filter(isNamespace), options.kinds.filter((kind) => !isNamespace(kind))]) {
    await Promise.all(kinds.map(({ type, initialObjects = [] }) => createAll(options, type, initialObjects)));
  }
}

async function createAll(
  { client, store }: BootstrapOptions,
  type: ResourceType,
  objects: readonly JsonObject[],
): Promise<void> {
  const missing = objects.filter((object) => {
    const { namespace = "", name = "" } = metaOf(object);
    return store.get(objectKey(type, namespace, name)) === undefined;
  });
  await Promise.all(
    missing.map((object) => createMissing(client, resourcePath(type, metaOf(object).namespace ?? ""), object)),
  );
}

/** Creates an object unless it is there. */
export async function createMissing(client: InternalClient, path: string, object: JsonObject): Promise<void> {
  try {
    await client.send("POST", path, { body: object });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}
