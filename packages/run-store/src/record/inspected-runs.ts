// SPDX-License-Identifier: Apache-2.0

import { type inspector, isFatal, type RunFunctionRequest, type RunFunctionResponse } from "@purlin/function-protocol";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { RunRecord, StepRecord } from "./stored-run.ts";

/** A step of which the request, and perhaps the response, has arrived. */
interface OpenStep {
  readonly meta: inspector.StepMeta;
  readonly request: RunFunctionRequest;
  response?: RunFunctionResponse;
  error?: string;
  endedMs: number;
}

/** The steps of one reconcile. */
interface OpenRun {
  readonly steps: Map<string, OpenStep>;
  lastMs: number;
}

/** Reconciles that are open at the same time; the oldest is recorded when there are more. */
const maxOpen = 1000;

/**
 * Puts runs together from the messages of a pipeline inspector, which come step by step and without an end: a run ends when the next
 * one of its composite resource begins, when nothing came for a while, or at {@link InspectedRuns.end}.
 */
export class InspectedRuns {
  readonly #record: (run: RunRecord) => void;
  readonly #open = new Map<string, OpenRun>();
  /** The open run of each composite resource. */
  readonly #current = new Map<string, string>();

  constructor(record: (run: RunRecord) => void) {
    this.#record = record;
  }

  request(meta: inspector.StepMeta, request: RunFunctionRequest): void {
    const { traceId, spanId } = meta;
    const xr = subjectOf(meta);
    const before = this.#current.get(xr);
    if (before !== undefined && before !== traceId) this.#finish(before);
    this.#current.set(xr, traceId);
    const run = this.#open.get(traceId) ?? { steps: new Map<string, OpenStep>(), lastMs: 0 };
    const now = timeOf(meta);
    run.steps.set(spanId, { meta, request, endedMs: now });
    run.lastMs = Math.max(run.lastMs, now);
    this.#open.set(traceId, run);
    const [oldest] = this.#open.keys();
    if (this.#open.size > maxOpen && oldest !== undefined) this.#finish(oldest);
  }

  response(meta: inspector.StepMeta, outcome: RunFunctionResponse | string, nowMs: number = timeOf(meta)): void {
    const run = this.#open.get(meta.traceId);
    const step = run?.steps.get(meta.spanId);
    if (run === undefined || step === undefined) return;
    if (typeof outcome === "string") step.error = outcome;
    else step.response = outcome;
    step.endedMs = Math.max(step.endedMs, nowMs);
    run.lastMs = step.endedMs;
  }

  /** Records the runs of which nothing came since a time. */
  endBefore(timeMs: number): void {
    for (const [traceId, { lastMs }] of this.#open) if (lastMs < timeMs) this.#finish(traceId);
  }

  /** Records all runs. */
  end(): void {
    for (const traceId of [...this.#open.keys()]) this.#finish(traceId);
  }

  #finish(traceId: string): void {
    const run = this.#open.get(traceId);
    this.#open.delete(traceId);
    const steps = [...(run?.steps.values() ?? [])].sort((a, b) => a.meta.stepIndex - b.meta.stepIndex);
    const [first] = steps;
    if (run === undefined || first === undefined) return;
    if (this.#current.get(subjectOf(first.meta)) === traceId) this.#current.delete(subjectOf(first.meta));
    this.#record(recordOf(first, steps, run.lastMs));
  }
}

function recordOf({ meta, request }: OpenStep, steps: readonly OpenStep[], endedMs: number): RunRecord {
  const xr = compositeOf(meta, request);
  const failed = steps.find(
    ({ error, response }) => error !== undefined || (response !== undefined && isFatal(response)),
  );
  const message = failed?.error ?? failed?.response?.results.find(({ severity }) => severity === 1)?.message;
  return {
    ...{ xr, after: xr, cause: "inspector", beganMs: timeOf(meta), endedMs, writes: [] },
    composition: meta.context?.case === "compositionMeta" ? meta.context.value.compositionName : "",
    steps: steps.map(stepOf),
    outcome: failed === undefined ? "composed" : "failed",
    error: message === undefined ? undefined : { reason: "", message },
  };
}

function stepOf({ meta, request, response, error, endedMs }: OpenStep): StepRecord {
  return {
    ...{
      index: meta.stepIndex,
      name: meta.stepName,
      functionName: meta.functionName,
      revisionName: "",
      packageRef: "",
    },
    ...{ durationMs: endedMs - timeOf(meta), isCached: false, calls: [{ request, response }] },
    ...(error !== undefined && { error }),
  };
}

function compositeOf(meta: inspector.StepMeta, { observed }: RunFunctionRequest): KubeObject {
  if (meta.context?.case === "operationMeta") return operationOf(meta.context.value);
  const value = meta.context?.value;
  const object = observed?.composite?.resource?.value ?? {};
  const metadata = {
    name: value?.compositeResourceName ?? "",
    ...(value?.compositeResourceNamespace && { namespace: value.compositeResourceNamespace }),
    uid: value?.compositeResourceUid ?? "",
  };
  const { compositeResourceApiVersion: apiVersion = "", compositeResourceKind: kind = "" } = value ?? {};
  return { ...object, apiVersion, kind, metadata: { ...metadata, ...(object["metadata"] as object | undefined) } };
}

/** An operation has no composite resource: its runs are those of the Operation itself. */
function operationOf({ operationName: name, operationUid: uid }: inspector.OperationMeta): KubeObject {
  return { apiVersion: "ops.crossplane.io/v1alpha1", kind: "Operation", metadata: { name, uid } };
}

/** The composite resource or operation of a message. */
function subjectOf({ context, traceId }: inspector.StepMeta): string {
  if (context?.case !== "compositionMeta") return traceId;
  const { value } = context;
  const { compositeResourceKind: kind, compositeResourceNamespace: namespace, compositeResourceName: name } = value;
  return `${kind}/${namespace}/${name}/${value.compositeResourceUid}`;
}

function timeOf({ timestamp }: inspector.StepMeta): number {
  return timestamp === undefined ? 0 : Number(timestamp.seconds) * 1000 + Math.round(timestamp.nanos / 1e6);
}
