// SPDX-License-Identifier: Apache-2.0

import { createErrorBrand } from "@purlin/base";
import {
  type Condition,
  type Duration,
  isProtocolError,
  type ResourceSelector,
  type Result,
  type RunFunctionResponse,
  Severity,
  type State,
  Status,
  type Struct,
  Target,
} from "@purlin/function-protocol";
import { type EventText, ReconcileError } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
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

const composeBrand = createErrorBrand<ComposeError>("purlin.dev/composition/ComposeError");
const fatalBrand = createErrorBrand<FatalResultError>("purlin.dev/composition/FatalResultError");
const resourceBrand = createErrorBrand<ComposedResourceError>("purlin.dev/composition/ComposedResourceError");

/** Composing failed. */
export class ComposeError extends ReconcileError {
  /** The error of the phase that failed. */
  readonly failed: unknown;

  constructor(cause: unknown) {
    const reason = isFatalResult(cause) ? cause.result.reason || "ReconcileError" : "ComposeResources";
    super(reason, `cannot compose resources: ${textOf(cause)}${adviceOn(cause)}`, cause);
    this.name = "ComposeError";
    this.failed = cause;
    composeBrand.mark(this);
  }
}

/** Whether the value is a ComposeError, of this or another copy of the package. */
export function isComposeError(value: unknown): value is ComposeError {
  return composeBrand.has(value);
}

/** The results of a pipeline until a function stopped it. */
export interface FatalResult {
  readonly step: string;
  readonly message: string;
  /** Empty when the function gave none. */
  readonly reason: string;
  readonly forClaim: boolean;
  readonly events: readonly PipelineEvent[];
  readonly conditions: readonly PipelineCondition[];
  readonly functionRevisions: readonly FunctionRevisionUsed[];
}

/** A function returned a fatal result. */
export class FatalResultError extends Error {
  readonly result: FatalResult;

  constructor(result: FatalResult) {
    super(`pipeline step "${result.step}" returned a fatal result: ${result.message}`);
    this.name = "FatalResultError";
    this.result = result;
    fatalBrand.mark(this);
  }
}

/** Whether the value is a FatalResultError, of this or another copy of the package. */
export function isFatalResult(value: unknown): value is FatalResultError {
  return fatalBrand.has(value);
}

/** An error about one composed resource. */
export class ComposedResourceError extends Error {
  readonly resource: TypeRef & { readonly namespace?: string | undefined };

  constructor(text: string, resource: TypeRef & { readonly namespace?: string | undefined }, cause: unknown) {
    super(`${text}: ${textOf(cause)}`, { cause });
    this.name = "ComposedResourceError";
    this.resource = resource;
    resourceBrand.mark(this);
  }
}

/** Whether the value is a ComposedResourceError, of this or another copy of the package. */
export function isComposedResourceError(value: unknown): value is ComposedResourceError {
  return resourceBrand.has(value);
}

/**
 * Advice to append to the message of a failure; empty when the message needs none. Nothing is added to a message that a function
 * returned.
 */
export function adviceOn(error: unknown): string {
  if (isFatalResult(error)) return "";
  const text = textOf(error);
  if (/no matches for kind "[^"]*" in version "[^"]*"$/.test(text)) {
    return ": install the CRD that defines it, or correct the function";
  }
  if (/namespaces "[^"]*" not found$/.test(text)) return ": create the namespace, or correct the function";
  // Some reasons end with a question that says what to check.
  if (text.includes("function unreachable") && !text.endsWith("?")) {
    return ": check that the function runs and can be reached there";
  }
  if (hasCause(error, (one) => isProtocolError(one) && one.code === "UNSTABLE_REQUIREMENTS")) {
    return ": the function must return the same requirements on every call, also when they are satisfied";
  }
  return "";
}

function hasCause(error: unknown, isWanted: (one: unknown) => boolean): boolean {
  for (let one = error; one !== undefined && one !== null; one = (one as { readonly cause?: unknown }).cause) {
    if (isWanted(one)) return true;
  }
  return false;
}
