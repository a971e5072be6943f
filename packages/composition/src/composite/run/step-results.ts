// SPDX-License-Identifier: Apache-2.0
import {
  type Condition,
  type Duration,
  type ResourceSelector,
  type Result,
  type RunFunctionResponse,
  Severity,
  type State,
  Status,
  type Struct,
  Target,
} from "@purlin/function-protocol";
import type { EventText } from "@purlin/kube-controller";
import { type ConditionText, shortened, type TypeRef } from "@purlin/kube-objects/object";

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

/** The results of one response. */
interface StepResults {
  readonly events: readonly PipelineEvent[];
  readonly conditions: readonly PipelineCondition[];
  /** The first fatal result; results after it do not count. */
  readonly fatal: Result | undefined;
}

/** Reads the results and conditions of a response. Conditions count whatever the results say. */
export function readResults(step: string, { results, conditions }: RunFunctionResponse): StepResults {
  const end = results.findIndex(({ severity }) => severity === Severity.SEVERITY_FATAL);
  const before = end < 0 ? results : results.slice(0, end);
  const fatal = results[end];
  return {
    events: before.map((result) => eventOf(step, result)),
    conditions: conditions.map(conditionFrom),
    fatal: fatal && { ...fatal, message: shortened(fatal.message) },
  };
}

function eventOf(step: string, { severity, message: text, reason, target }: Result): PipelineEvent {
  // A message of any length is kept until all steps have run.
  const message = shortened(text);
  const common = { reason: reason || "ComposeResources", message };
  const detail = `Pipeline step "${step}"`;
  if (severity === Severity.SEVERITY_NORMAL || severity === Severity.SEVERITY_WARNING) {
    const type = severity === Severity.SEVERITY_NORMAL ? "Normal" : "Warning";
    return { ...common, type, forClaim: isForClaim(target), detail: `${detail}: ` };
  }
  const assumed = `${detail} returned a result of unknown severity (assuming warning): ${message}`;
  return { ...common, type: "Warning", message: assumed, forClaim: false, detail: "" };
}

/** Whether a target includes the claim. An unknown target means the composite resource alone. */
export function isForClaim(target: Target | undefined): boolean {
  return target === Target.TARGET_COMPOSITE_AND_CLAIM;
}

function conditionFrom({ type, status, reason, message, target }: Condition): PipelineCondition {
  return {
    type,
    status: statusText(status),
    reason,
    forClaim: isForClaim(target),
    ...(message ? { message: shortened(message) } : {}),
  };
}

function statusText(status: Status): PipelineCondition["status"] {
  if (status === Status.STATUS_CONDITION_TRUE) return "True";
  return status === Status.STATUS_CONDITION_FALSE ? "False" : "Unknown";
}

/** Milliseconds of a response's time to live; undefined when it has none. */
export function ttlOf({ meta }: RunFunctionResponse): number | undefined {
  const ms = meta?.ttl === undefined ? 0 : milliseconds(meta.ttl);
  return ms > 0 ? ms : undefined;
}

function milliseconds({ seconds, nanos }: Duration): number {
  return Number(seconds) * 1000 + nanos / 1e6;
}

/** The shorter of two times, where there are any. */
export function shorter(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}
