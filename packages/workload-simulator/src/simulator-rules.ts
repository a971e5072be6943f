// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";

const readWrite = ["get", "list", "watch", "create", "update", "patch", "delete"];

/** The rights that the simulator needs: those of the controllers, the scheduler and the kubelet that it stands for. */
export const simulatorRules: readonly JsonObject[] = [
  {
    apiGroups: [""],
    resources: [
      ...["pods", "pods/status", "pods/binding", "pods/eviction", "nodes", "nodes/status", "events"],
      ...["services", "services/status", "endpoints", "replicationcontrollers", "replicationcontrollers/status"],
      ...["persistentvolumeclaims", "persistentvolumeclaims/status", "persistentvolumes", "persistentvolumes/status"],
    ],
    verbs: readWrite,
  },
  {
    apiGroups: ["apps", "autoscaling", "batch", "discovery.k8s.io", "events.k8s.io", "policy", "simulation.purlin.dev"],
    resources: ["*"],
    verbs: readWrite,
  },
  { apiGroups: ["*"], resources: ["*/scale"], verbs: ["get", "update", "patch"] },
  {
    apiGroups: ["gateway.networking.k8s.io", "networking.k8s.io"],
    resources: ["gateways", "gateways/status", "ingresses", "ingresses/status"],
    verbs: readWrite,
  },
  { apiGroups: ["storage.k8s.io"], resources: ["storageclasses"], verbs: readWrite },
  { apiGroups: ["apiextensions.k8s.io"], resources: ["customresourcedefinitions"], verbs: readWrite },
  // Owners that block their deletion need it where OwnerReferencesPermissionEnforcement is on.
  { apiGroups: ["*"], resources: ["*/finalizers"], verbs: ["update"] },
];
