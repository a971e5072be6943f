// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import type { TypeRef } from "@purlin/kube-objects/object";

const apps = "apps/v1";
const core = "v1";
const batch = "batch/v1";

type SimulatedKind =
  | "deployment"
  | "replicaSet"
  | "replicationController"
  | "statefulSet"
  | "daemonSet"
  | "controllerRevision"
  | "pod"
  | "node"
  | "service"
  | "claim"
  | "volume"
  | "storageClass"
  | "endpointSlice"
  | "endpoints"
  | "ingress"
  | "gateway"
  | "job"
  | "cronJob"
  | "autoscaler"
  | "disruptionBudget"
  | "simulation";

/** The kinds that the simulator reads or writes. */
export const kinds: Readonly<Record<SimulatedKind, TypeRef>> = {
  deployment: { apiVersion: apps, kind: "Deployment" },
  replicaSet: { apiVersion: apps, kind: "ReplicaSet" },
  replicationController: { apiVersion: core, kind: "ReplicationController" },
  statefulSet: { apiVersion: apps, kind: "StatefulSet" },
  daemonSet: { apiVersion: apps, kind: "DaemonSet" },
  controllerRevision: { apiVersion: apps, kind: "ControllerRevision" },
  pod: { apiVersion: core, kind: "Pod" },
  node: { apiVersion: core, kind: "Node" },
  service: { apiVersion: core, kind: "Service" },
  claim: { apiVersion: core, kind: "PersistentVolumeClaim" },
  volume: { apiVersion: core, kind: "PersistentVolume" },
  storageClass: { apiVersion: "storage.k8s.io/v1", kind: "StorageClass" },
  endpoints: { apiVersion: core, kind: "Endpoints" },
  endpointSlice: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
  ingress: { apiVersion: "networking.k8s.io/v1", kind: "Ingress" },
  gateway: { apiVersion: "gateway.networking.k8s.io/v1", kind: "Gateway" },
  job: { apiVersion: batch, kind: "Job" },
  cronJob: { apiVersion: batch, kind: "CronJob" },
  autoscaler: { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" },
  disruptionBudget: { apiVersion: "policy/v1", kind: "PodDisruptionBudget" },
  simulation: { apiVersion: "simulation.purlin.dev/v1alpha1", kind: "Simulation" },
};

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
