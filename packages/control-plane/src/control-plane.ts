// SPDX-License-Identifier: Apache-2.0
import type { RunStep } from "@purlin/function-runner";
import type { InformerPool, KubeClient } from "@purlin/kube-client";
import type { ControllerClient, ControllerEngine, EventRecorder } from "@purlin/kube-controller";

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
