// SPDX-License-Identifier: Apache-2.0
import { createHash } from "node:crypto";
import type { ReconcileContext, ReconcileResult, WatchingController } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import {
  conditionTime,
  isDeleted,
  type KubeObject,
  objectAt,
  objectsAt,
  stringAt,
  textAt,
} from "@purlin/kube-objects/object";
import { kinds } from "../kinds.ts";

import { simulatedController } from "../simulated-controller.ts";
import { type SimulatorDeps, storeStatus } from "../simulator-deps.ts";

/** An address of 198.18.0.0/15, the range for tests of networks: nothing answers there. */
function addressOf({ metadata }: KubeObject): string {
  const hash = createHash("sha256")
    .update(metadata.uid ?? "")
    .digest();
  return `198.${18 + ((hash[0] ?? 0) & 1)}.${hash[1] ?? 0}.${1 + ((hash[2] ?? 0) % 254)}`;
}

/** Gives Services of type LoadBalancer an address. */
export function loadBalancerController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "service-controller",
    type: kinds.service,
    reconcile: balance,
  });
}

async function balance(deps: SimulatorDeps, context: ReconcileContext): Promise<ReconcileResult> {
  const service = context.stored.object;
  const status = objectAt(service, ["status"]);
  const isWanted =
    textAt(service, ["spec", "type"]) === "LoadBalancer" &&
    textAt(service, ["spec", "loadBalancerClass"]) === undefined;
  const hasAddress = objectsAt(service, ["status", "loadBalancer", "ingress"]).length > 0;
  if (isDeleted(service) || isWanted === hasAddress) return {};
  if (isWanted) context.emit({ reason: "EnsuringLoadBalancer", message: "Ensuring load balancer" });
  const loadBalancer = isWanted ? { ingress: [{ ip: addressOf(service), ipMode: "VIP" }] } : {};
  await storeStatus(deps, service, { ...status, loadBalancer });
  if (isWanted) context.emit({ reason: "EnsuredLoadBalancer", message: "Ensured load balancer" });
  return {};
}

/** Gives Ingresses an address. */
export function ingressController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "ingress-controller",
    type: kinds.ingress,
    reconcile: async (_deps, context) => {
      const ingress = context.stored.object;
      const hasAddress = objectsAt(ingress, ["status", "loadBalancer", "ingress"]).length > 0;
      if (isDeleted(ingress) || hasAddress) return {};
      await storeStatus(deps, ingress, { loadBalancer: { ingress: [{ ip: addressOf(ingress) }] } });
      context.emit({ reason: "Sync", message: "Scheduled for sync" });
      return {};
    },
  });
}

/** Accepts Gateways of the Gateway API and gives them an address. */
export function gatewayController(deps: SimulatorDeps): WatchingController {
  return simulatedController(deps, {
    name: "gateway-controller",
    type: kinds.gateway,
    reconcile: async (_deps, { stored: { object } }) => {
      if (isDeleted(object)) return {};
      const isCurrent = objectsAt(object, ["status", "conditions"]).some(
        (condition) =>
          condition["type"] === "Programmed" && condition["observedGeneration"] === object.metadata.generation,
      );
      if (!isCurrent) await storeStatus(deps, object, gatewayStatus(object, deps.clock.now()));
      return {};
    },
  });
}

function gatewayStatus(gateway: KubeObject, now: number): JsonObject {
  const conditions = (types: readonly string[]): JsonObject[] =>
    types.map((type) => ({
      type,
      status: "True",
      reason: type,
      message: "",
      lastTransitionTime: conditionTime(now),
      observedGeneration: gateway.metadata.generation ?? 1,
    }));
  const listeners = objectsAt(gateway, ["spec", "listeners"]).map((listener) => ({
    name: stringAt(listener, ["name"]),
    attachedRoutes: 0,
    supportedKinds: [],
    conditions: conditions(["Accepted", "Programmed", "ResolvedRefs"]),
  }));
  const addresses = [{ type: "IPAddress", value: addressOf(gateway) }];
  return { addresses, conditions: conditions(["Accepted", "Programmed"]), listeners };
}
