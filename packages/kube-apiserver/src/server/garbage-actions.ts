// SPDX-License-Identifier: Apache-2.0
import { type JsonObject, type OwnerReference, parseApiVersion } from "@purlin/kube-objects";
import type { GarbageActions, GarbageCollectorOptions } from "../gc/garbage-collector.ts";
import { type OwnedObject, ownedObject } from "../gc/owned-object.ts";
import type { Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { objectKey } from "../rest/storage-key.ts";
import type { Store } from "../store/store.ts";
import { type InternalClient, resourcePath } from "./internal-client.ts";

const MERGE_PATCH = "application/merge-patch+json";

/** The type of a kind; of another version of it when its own is not served. */
export function typeOfKind(catalog: Catalog, apiVersion: string, kind: string): ResourceType | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  const versions = catalog.group(group)?.versions ?? [];
  const own = versions.find((candidate) => candidate.version === version);
  return [...(own === undefined ? [] : [own]), ...versions]
    .flatMap(({ resources }) => resources)
    .find((type) => type.kind === kind && type.verbs.includes("delete"));
}

/** Garbage collection as a client of the server: each change says which object it means. */
export function garbageActions(client: InternalClient, catalog: () => Catalog): GarbageActions {
  const pathOf = (object: OwnedObject): string | undefined => {
    const type = typeOfKind(catalog(), object.apiVersion, object.kind);
    return type && resourcePath(type, object.namespace, object.name);
  };
  const patch = async (object: OwnedObject, metadata: JsonObject): Promise<void> => {
    const path = pathOf(object);
    if (path !== undefined) {
      const { uid, resourceVersion } = object;
      await client.send("PATCH", path, {
        contentType: MERGE_PATCH,
        body: { metadata: { uid, resourceVersion, ...metadata } },
      });
    }
  };
  return {
    delete: async (object, propagationPolicy) => {
      const path = pathOf(object);
      if (path !== undefined) {
        const { uid, resourceVersion } = object;
        await client.send("DELETE", path, { body: { propagationPolicy, preconditions: { uid, resourceVersion } } });
      }
    },
    dropOwners: (object, uids) => {
      const kept = object.owners.filter(({ uid }) => !uids.includes(uid));
      return patch(object, { ownerReferences: kept.length === 0 ? null : (kept as unknown as JsonObject[]) });
    },
    dropFinalizer: (object, finalizer) => {
      const kept = object.finalizers.filter((name) => name !== finalizer);
      return patch(object, { finalizers: kept.length === 0 ? null : kept });
    },
  };
}

/**
 * Finds the owner a reference means. Owners of namespaced kinds are in the dependent's own namespace; a cluster-scoped dependent can
 * have none.
 */
export function ownerFinder(store: Store<JsonObject>, catalog: () => Catalog): GarbageCollectorOptions["ownerOf"] {
  return (reference: OwnerReference, dependent: OwnedObject) => {
    const type = typeOfKind(catalog(), reference.apiVersion, reference.kind);
    if (type === undefined || (type.namespaced && dependent.namespace === "")) {
      return "unknown";
    }
    const entry = store.get(objectKey(type, type.namespaced ? dependent.namespace : "", reference.name));
    const owner = entry && ownedObject(entry.value);
    return owner?.uid === reference.uid ? owner : "absent";
  };
}
