// SPDX-License-Identifier: Apache-2.0

import type { ResourceSelector, State, Struct } from "@purlin/function-protocol";
import type { EventText } from "@purlin/kube-controller";
import type { ConditionText, TypeRef } from "@purlin/kube-objects/object";

/** An event of a pipeline. On the XR it carries the detail, on the claim the bare message. */
export interface PipelineEvent extends EventText {
  /** The claim gets it too, if there is one. */
  readonly forClaim: boolean;
  /** The prefix of the message on the XR; may be empty. */
  readonly detail: string;
}

/** A condition of a pipeline. */
export interface PipelineCondition extends ConditionText {
  readonly forClaim: boolean;
}

/** Which revision of its function ran a step. */
export type FunctionRevisionUsed = {
  readonly step: string;
  readonly functionRevision: string;
};

/** Resources that a step requires, by requirement name. */
export interface StepRequirement {
  readonly step: string;
  readonly name: string;
  readonly selector: ResourceSelector;
}

/** The outcome of a pipeline that ran to its end. */
export interface PipelineOutcome {
  readonly desired: State | undefined;
  readonly context: Struct | undefined;
  readonly events: readonly PipelineEvent[];
  readonly conditions: readonly PipelineCondition[];
  readonly requirements: readonly StepRequirement[];
  /** The kinds whose schemas steps require. */
  readonly schemas: readonly TypeRef[];
  readonly functionRevisions: readonly FunctionRevisionUsed[];
  /** The shortest time to live of a response; undefined when no response has one. */
  readonly ttlMs: number | undefined;
}
