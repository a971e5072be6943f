// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import type { ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import type { CauseCode } from "./cause-table.ts";

/** Which object. */
export type ObjectRef = TypeRef & ObjectKey;

/** What was read, and where. */
export interface Evidence {
  /** Such as `App default/web`. */
  readonly object: string;
  /** The field, such as `status.conditions[Synced]`. */
  readonly path?: string | undefined;
  readonly time?: string | undefined;
  readonly text: string;
}

/** An edge of the graph: an object waits for another one. */
export interface Edge {
  readonly to: ObjectRef;
  /** What connects them, such as `step "render"`. */
  readonly via?: string | undefined;
}

/** A recognized cause at one object. */
export interface Finding {
  readonly code: CauseCode;
  readonly object: ObjectRef;
  readonly path?: string | undefined;
  readonly since?: string | undefined;
  readonly sentence: string;
  readonly evidence: readonly Evidence[];
  /** Commands or edits that help, the best one first. */
  readonly next: readonly string[];
  /** Where the root cause may be. If one of these is broken, the finding is its effect. */
  readonly waitsFor?: readonly Edge[];
  /** Whether the finding only leads to others, and is not a cause itself. */
  readonly effectOnly?: boolean;
  /** What connects the object with the finding, such as `step "render"`. */
  readonly via?: string | undefined;
}

/** A finding with no broken object below it. */
export interface Cause extends Omit<Finding, "waitsFor" | "effectOnly" | "via"> {
  /** The chain from the object that was asked about to the cause. */
  readonly effects: readonly string[];
}

/** An object that is not ready yet, without an error. */
export interface Waiting {
  readonly object: ObjectRef;
  readonly since?: string | undefined;
  readonly text: string;
  readonly effects: readonly string[];
}

/** Something to know about an object, healthy or not. */
export interface Note {
  readonly code?: CauseCode;
  readonly object: ObjectRef;
  readonly text: string;
}

/** What an inspection found out about one object. */
export interface NodeReport {
  readonly findings?: readonly Finding[];
  /** Other objects to inspect: what they report does not depend on the findings. */
  readonly edges?: readonly Edge[];
  readonly waiting?: readonly Omit<Waiting, "object" | "effects">[];
  readonly notes?: readonly Omit<Note, "object">[];
  /** Unhealthy conditions that no cause matches, verbatim. */
  readonly unknown?: readonly Evidence[];
}

/** The state of an object: `unknown` is unhealthy without a recognized cause. */
export type Verdict = "healthy" | "waiting" | "broken" | "unknown";

/** Why an object is as it is. */
export interface Explanation {
  readonly apiVersion: "explain.purlin.dev/v1alpha1";
  readonly kind: "Explanation";
  readonly object: ObjectRef;
  readonly verdict: Verdict;
  /** The most probable one first. */
  readonly causes: readonly Cause[];
  readonly waiting: readonly Waiting[];
  readonly unknown: readonly Evidence[];
  readonly notes: readonly Note[];
  /** What could not be read, and why. */
  readonly notRead: readonly string[];
}

/** Exit code of each verdict. */
export const exitCodes: Readonly<Record<Verdict, number>> = { healthy: 0, broken: 3, waiting: 4, unknown: 5 };

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
  /** How many equal runs came after it; 0 unless given. */
  readonly repeats?: number | undefined;
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
