// SPDX-License-Identifier: Apache-2.0

/** The kinds of the comparison. */
export const types = {
  deployment: { apiVersion: "apps/v1", kind: "Deployment" },
  replicaSet: { apiVersion: "apps/v1", kind: "ReplicaSet" },
  replicationController: { apiVersion: "v1", kind: "ReplicationController" },
  statefulSet: { apiVersion: "apps/v1", kind: "StatefulSet" },
  daemonSet: { apiVersion: "apps/v1", kind: "DaemonSet" },
  controllerRevision: { apiVersion: "apps/v1", kind: "ControllerRevision" },
  pod: { apiVersion: "v1", kind: "Pod" },
  service: { apiVersion: "v1", kind: "Service" },
  endpoints: { apiVersion: "v1", kind: "Endpoints" },
  event: { apiVersion: "v1", kind: "Event" },
  job: { apiVersion: "batch/v1", kind: "Job" },
  cronJob: { apiVersion: "batch/v1", kind: "CronJob" },
  endpointSlice: { apiVersion: "discovery.k8s.io/v1", kind: "EndpointSlice" },
  autoscaler: { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler" },
  budget: { apiVersion: "policy/v1", kind: "PodDisruptionBudget" },
} as const;
