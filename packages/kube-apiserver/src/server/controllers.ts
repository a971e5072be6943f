// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects";
import { GarbageCollector } from "../gc/garbage-collector.ts";
import type { Store } from "../store/store.ts";
import { ApiServices } from "./api-services.ts";
import { garbageActions, ownerFinder } from "./garbage-actions.ts";
import { NamespaceController } from "./namespace-controller.ts";
import { createRoleAggregation } from "./role-aggregation.ts";
import type { ServerCore } from "./server-core.ts";

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
