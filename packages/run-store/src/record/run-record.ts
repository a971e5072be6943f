// SPDX-License-Identifier: Apache-2.0

import type { RunFunctionRequest, RunFunctionResponse } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-objects/object";

/** How a reconcile ended. */
export type RunOutcome = "composed" | "unchanged" | "failed" | "conflict";

/** One call of a function within a step. */
export interface CallRecord {
  readonly request: RunFunctionRequest;
  /** Undefined when the call failed. */
  readonly response?: RunFunctionResponse | undefined;
}

/** One step of a run. */
export interface StepRecord {
  readonly index: number;
  readonly name: string;
  readonly functionName: string;
  readonly revisionName: string;
  /** The package of the revision, with its digest if it has one. */
  readonly packageRef: string;
  readonly durationMs: number;
  /** Whether a cache answered. */
  readonly isCached: boolean;
  /** The calls in their order; the last one has everything that the function required. */
  readonly calls: readonly CallRecord[];
  readonly error?: string | undefined;
}

/** A write of a run. */
export interface WriteRecord {
  readonly verb: "create" | "update" | "patch" | "apply" | "delete";
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly name: string;
  readonly subresource?: string | undefined;
  readonly before?: KubeObject | undefined;
  readonly after?: KubeObject | undefined;
}

/** One reconcile of one composite resource, by reference: nothing in it changes afterwards. */
export interface RunRecord {
  /** The resource as it was read. */
  readonly xr: KubeObject;
  /** The resource as it was stored last. */
  readonly after: KubeObject;
  readonly cause: string;
  readonly beganMs: number;
  readonly endedMs: number;
  /** The CompositionRevision; undefined when the run ended before one was selected. */
  readonly revision?: KubeObject | undefined;
  /** The name of the Composition, where its revision is not known. */
  readonly composition?: string | undefined;
  readonly steps: readonly StepRecord[];
  readonly writes: readonly WriteRecord[];
  readonly outcome: RunOutcome;
  readonly error?: { readonly reason: string; readonly message: string } | undefined;
  readonly ttlMs?: number | undefined;
}
