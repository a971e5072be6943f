// SPDX-License-Identifier: Apache-2.0
import type { RunStep } from "@purlin/function-runner";
import type { InformerPool, KubeClient } from "@purlin/kube-client";
import type { ControllerClient, ControllerEngine, EventRecorder } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";

/** The parts of a running control plane, for controllers and tools that use them. */
export interface ControlPlaneDeps {
  /** The client of the API server, without caches. */
  readonly kube: KubeClient;
  readonly client: ControllerClient;
  readonly informers: InformerPool;
  readonly engine: ControllerEngine;
  readonly events: EventRecorder;
  /** Runs the function of a pipeline step. */
  readonly runStep: RunStep;
}

/** The state of a control plane. */
export type ControlPlaneState = "waiting" | "starting" | "running" | "stopped";

/** All controllers of one process. */
export interface ControlPlane extends AsyncDisposable {
  /** Waiting for the leader election, starting, running, or stopped. */
  readonly state: ControlPlaneState;
  /** Resolves when all controllers run for the first time. Rejects when they cannot, or are stopped before. */
  readonly ready: Promise<ControlPlaneDeps>;
  /** Settles when the control plane has ended: rejects when it failed. */
  readonly ended: Promise<void>;
  /** Starts nothing more, waits for running reconciles, writes pending events, and gives leadership back. */
  stop(): Promise<void>;
}

const readWrite = ["get", "list", "watch", "create", "update", "patch", "delete"];

/**
 * The rights that the control plane itself needs: those of the ClusterRole `crossplane:system:aggregate-to-crossplane` of Crossplane's chart.
 * They do not include the kinds that compositions compose.
 */
export const controlPlaneRules: readonly JsonObject[] = [
  { apiGroups: [""], resources: ["events"], verbs: ["create", "update", "patch", "delete"] },
  {
    apiGroups: ["apiextensions.k8s.io"],
    resources: ["customresourcedefinitions", "customresourcedefinitions/status"],
    verbs: ["*"],
  },
  { apiGroups: [""], resources: ["secrets"], verbs: readWrite },
  { apiGroups: [""], resources: ["serviceaccounts", "services"], verbs: ["*"] },
  {
    apiGroups: ["apiextensions.crossplane.io", "ops.crossplane.io", "pkg.crossplane.io", "protection.crossplane.io"],
    resources: ["*"],
    verbs: ["*"],
  },
  { apiGroups: ["extensions", "apps"], resources: ["deployments"], verbs: readWrite },
  { apiGroups: ["", "coordination.k8s.io"], resources: ["configmaps", "leases"], verbs: readWrite },
  {
    apiGroups: ["admissionregistration.k8s.io"],
    resources: ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"],
    verbs: readWrite,
  },
];
