// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import type { Store } from "../store/store.ts";
import { type CollectedRules, collectRules } from "./collect-rules.ts";
import type { InternalClient } from "./internal-client.ts";
import { StoreFollower } from "./store-follower.ts";

const PREFIX = "/rbac.authorization.k8s.io/clusterroles/";
const PATH = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** Gives ClusterRoles that are made of others the rules of those. */
export function createRoleAggregation(
  store: Store<JsonObject>,
  client: InternalClient,
  onError: (error: unknown) => void,
): StoreFollower {
  return new StoreFollower({
    store,
    prefix: PREFIX,
    onError,
    // Any role may be a part of any other: a change of one is a reason to look at all, once.
    subjectOf: () => PREFIX,
    reconcile: async () => {
      const roles = store.list({ prefix: PREFIX }).entries.map((entry) => entry.value);
      await Promise.all(collectRules(roles).map((collected) => apply(client, collected)));
    },
  });
}

async function apply(client: InternalClient, { name, rules }: CollectedRules): Promise<void> {
  await client.send("PATCH", `${PATH}/${encodeURIComponent(name)}`, {
    contentType: "application/apply-patch+yaml",
    query: { fieldManager: "clusterrole-aggregation-controller", force: "true" },
    body: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules },
  });
}
