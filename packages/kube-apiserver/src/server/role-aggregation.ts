// SPDX-License-Identifier: Apache-2.0
import {
  compareUtf8,
  isJsonObject,
  type JsonObject,
  jsonEqual,
  type LabelSelectorObject,
  labelSelectorOf,
  matchesLabels,
} from "@purlin/kube-objects";
import { valueAt } from "../builtin/read-field.ts";
import { metaOf } from "../rest/object-meta.ts";
import type { Store } from "../store/store.ts";
import type { InternalClient } from "./internal-client.ts";
import { StoreFollower } from "./store-follower.ts";

const PREFIX = "/rbac.authorization.k8s.io/clusterroles/";
const PATH = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

/** Gives ClusterRoles that are made of others the rules of those: of all that match one of their selectors, by name. */
export function createRoleAggregation(
  store: Store<JsonObject>,
  client: InternalClient,
  onError: (error: unknown) => void,
): StoreFollower {
  return new StoreFollower({
    store,
    prefix: PREFIX,
    onError,
    reconcile: async () => {
      const roles = store.list({ prefix: PREFIX }).entries.map((entry) => entry.value);
      for (const role of roles.filter((one) => selectorsOf(one).length > 0)) {
        await aggregate(client, role, roles);
      }
    },
  });
}

async function aggregate(client: InternalClient, role: JsonObject, roles: readonly JsonObject[]): Promise<void> {
  const rules = rulesFor(role, roles);
  if (jsonEqual(rules, role["rules"] ?? [])) {
    return;
  }
  const { name = "" } = metaOf(role);
  await client.send("PATCH", `${PATH}/${encodeURIComponent(name)}`, {
    contentType: "application/apply-patch+yaml",
    query: { fieldManager: "clusterrole-aggregation-controller", force: "true" },
    body: { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", metadata: { name }, rules },
  });
}

function rulesFor(role: JsonObject, roles: readonly JsonObject[]): JsonObject[] {
  const rules: JsonObject[] = [];
  const others = roles.filter((one) => metaOf(one).name !== metaOf(role).name);
  for (const selector of selectorsOf(role)) {
    const matching = others.filter((one) => matchesLabels(labelSelectorOf(selector), metaOf(one).labels));
    for (const one of matching.sort((a, b) => compareUtf8(metaOf(a).name ?? "", metaOf(b).name ?? ""))) {
      const own = one["rules"];
      for (const rule of (Array.isArray(own) ? own : []) as readonly JsonObject[]) {
        if (!rules.some((known) => jsonEqual(known, rule))) {
          rules.push(rule);
        }
      }
    }
  }
  return rules;
}

function selectorsOf(role: JsonObject): LabelSelectorObject[] {
  const selectors = valueAt(role, "aggregationRule", "clusterRoleSelectors");
  return Array.isArray(selectors) ? (selectors.filter(isJsonObject) as LabelSelectorObject[]) : [];
}
