// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import { type OwnerReference, parseApiVersion } from "@purlin/kube-objects/object";
import { type GarbageActions, GarbageCollector, type GarbageCollectorOptions } from "../gc/garbage-collector.ts";
import { type OwnedObject, ownedObject } from "../gc/owned-object.ts";
import type { Catalog } from "../registry/registry.ts";
import type { ResourceType } from "../registry/resource-type.ts";
import { objectKey } from "../rest/storage-key.ts";
import type { Store } from "../store/store.ts";
import { ApiServices } from "./api-services.ts";
import { type CollectedRules, collectRules } from "./collect-rules.ts";
import { type InternalClient, resourcePath } from "./internal-client.ts";
import { NamespaceController } from "./namespace-controller.ts";
import type { ServerCore } from "./server-core.ts";
import { StoreFollower } from "./store-follower.ts";

const mergePatch = "application/merge-patch+json";

const rolesPrefix = "/rbac.authorization.k8s.io/clusterroles/";

const rolesPath = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** What looks after objects by itself, as clients of a cluster expect. */
export interface Controllers {
  start(): void;
  stop(): void;
}

export function createControllers(
  core: ServerCore,
  store: Store<JsonObject>,
  onError: (error: unknown) => void,
): Controllers {
  const { client, catalog, now } = core;
  const actions = garbageActions(client, catalog);
  const collector = new GarbageCollector({ store, actions, ownerOf: ownerFinder(store, catalog), onError });
  const roles = createRoleAggregation(store, client, onError);
  const namespaces = new NamespaceController({ store, client, catalog, now, onError });
  const apiServices = new ApiServices(core.services, onError);
  core.onPublished = () => {
    collector.revisit();
    apiServices.revisit();
  };
  return {
    start: () => {
      apiServices.revisit();
      collector.start();
      namespaces.start();
      roles.start();
    },
    stop: () => {
      apiServices.stop();
      collector.stop();
      namespaces.stop();
      roles.stop();
    },
  };
}

/** Gives ClusterRoles that are made of others the rules of those. */
function createRoleAggregation(
  store: Store<JsonObject>,
  client: InternalClient,
  onError: (error: unknown) => void,
): StoreFollower {
  return new StoreFollower({
    store,
    prefix: rolesPrefix,
    onError,
    // Any role may be a part of any other: a change of one is a reason to look at all, once.
    subjectOf: () => rolesPrefix,
    reconcile: async () => {
      const roles = store.list({ prefix: rolesPrefix }).entries.map((entry) => entry.value);
      await Promise.all(collectRules(roles).map((collected) => apply(client, collected)));
    },
  });
}

async function apply(client: InternalClient, { name, rules }: CollectedRules): Promise<void> {
  await client.send("PATCH", `${rolesPath}/${encodeURIComponent(name)}`, {
    contentType: "application/apply-patch+yaml",
    query: { fieldManager: "clusterrole-aggregation-controller", force: "true" },
    body: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules },
  });
}

/** The type of a kind; of another version of it when its own is not served. */
function typeOfKind(catalog: Catalog, apiVersion: string, kind: string): ResourceType | undefined {
  const { group, version } = parseApiVersion(apiVersion);
  const versions = catalog.group(group)?.versions ?? [];
  const own = versions.find((candidate) => candidate.version === version);
  return [...(own === undefined ? [] : [own]), ...versions]
    .flatMap(({ resources }) => resources)
    .find((type) => type.kind === kind && type.verbs.includes("delete"));
}

/** Garbage collection as a client of the server: each change says which object it means. */
function garbageActions(client: InternalClient, catalog: () => Catalog): GarbageActions {
  const pathOf = (object: OwnedObject): string | undefined => {
    const type = typeOfKind(catalog(), object.apiVersion, object.kind);
    return type && resourcePath(type, object.namespace, object.name);
  };
  const patch = async (object: OwnedObject, metadata: JsonObject): Promise<void> => {
    const path = pathOf(object);
    if (path !== undefined) {
      const { uid, resourceVersion } = object;
      await client.send("PATCH", path, {
        contentType: mergePatch,
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
      return patch(object, { ownerReferences: kept.length === 0 ? null : kept });
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
function ownerFinder(store: Store<JsonObject>, catalog: () => Catalog): GarbageCollectorOptions["ownerOf"] {
  return (reference: OwnerReference, dependent: OwnedObject) => {
    const type = typeOfKind(catalog(), reference.apiVersion, reference.kind);
    if (type === undefined || (type.namespaced && dependent.namespace === "")) return "unknown";
    const entry = store.get(objectKey(type, type.namespaced ? dependent.namespace : "", reference.name));
    const owner = entry && ownedObject(entry.value);
    return owner?.uid === reference.uid ? owner : "absent";
  };
}
