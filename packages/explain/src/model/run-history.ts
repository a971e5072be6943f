// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/kube-objects/json";
import type { ObjectRef } from "./explanation.ts";

/** Readiness in the answer of a function. */
type Readiness = "True" | "False" | "Unspecified";

/** The desired state after a step, or at the end of a pipeline. */
interface DesiredState {
  readonly composite?: JsonObject | undefined;
  readonly compositeReady?: Readiness | undefined;
  readonly resources: Readonly<Record<string, { readonly object: JsonObject; readonly ready: Readiness }>>;
}

/** An object or schema that a step required and that does not exist. */
interface MissingRequirement {
  readonly what: "resource" | "schema";
  readonly apiVersion: string;
  readonly kind: string;
  readonly name?: string | undefined;
  readonly namespace?: string | undefined;
}

/** One step of a recorded run. */
export interface RecordedStep {
  readonly step: string;
  readonly functionName: string;
  readonly durationMs: number;
  /** The requirements of each call of the step, as texts. */
  readonly rounds: readonly (readonly string[])[];
  readonly missing: readonly MissingRequirement[];
  readonly warnings: readonly string[];
  readonly desired: DesiredState;
}

/** One run of the pipeline of a composite resource. */
export interface RecordedRun {
  readonly id: string;
  readonly time: string;
  /** Equal for runs on equal observed state. */
  readonly observedHash: string;
  /** Observed composed resources by name. */
  readonly observed: Readonly<Record<string, JsonObject>>;
  readonly steps: readonly RecordedStep[];
  readonly desired: DesiredState;
}

/** Recorded runs, from the recorder of a control plane. */
export interface RunHistory {
  /** The most recent runs of a composite resource, newest first. */
  runsOf(composite: ObjectRef, limit: number): Promise<readonly RecordedRun[]>;
}

/** The text in place of what only recorded runs show. */
export const recorderOff = "recorder off: recorded runs would show more";
