// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import {
  create,
  inspector,
  type ResourceSelector,
  type RunFunctionResponse,
  type Struct,
} from "@purlin/function-protocol";
import {
  buildRequest,
  type FunctionReference,
  firstState,
  type RequestSources,
  type RunCall,
  type RunStep,
  type RunTrace,
  type StepDefinition,
  type StepState,
  selectorOf,
} from "@purlin/function-runner";
import type { KubeObject, TypeRef } from "@purlin/kube-client/objects";
import { memberAt, textAt, textOf, wrapError } from "@purlin/kube-controller/object";
import { isJsonObject } from "@purlin/kube-objects";
import { type Observed, observedState } from "../observe/observe.ts";
import { FatalResultError } from "./compose-error.ts";
import type { PipelineOutcome, StepRequirement } from "./pipeline-outcome.ts";
import { isForClaim, readResults, shorter, ttlOf } from "./step-results.ts";

/** A step of a composition, complete. */
export interface PipelineStep extends StepDefinition {
  readonly functionRef?: { readonly name?: string };
  readonly functionRevisionRef?: { readonly name: string };
  readonly functionRevisionSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly function?: string;
}

/** What a pipeline needs from outside. */
export interface PipelineSurroundings {
  readonly runStep: RunStep;
  readonly sources: Pick<RequestSources, "secrets" | "resources" | "schema">;
  /** What a step asked for in the last pass. */
  readonly seeds: (step: string) => ReadonlyMap<string, ResourceSelector>;
  readonly deadline: number;
  readonly signal: AbortSignal;
  readonly context?: Struct | undefined;
}

const nothing: Omit<PipelineOutcome, "desired" | "context"> = {
  events: [],
  conditions: [],
  requirements: [],
  schemas: [],
  functionRevisions: [],
  ttlMs: undefined,
};

/**
 * Runs the steps of a revision one after the other, each on what the one before it answered. Rejects with a
 * FatalResultError when a function says it cannot go on, and with another error when a step cannot be run.
 */
export async function runPipeline(
  revision: KubeObject,
  observed: Observed,
  surroundings: PipelineSurroundings,
): Promise<PipelineOutcome> {
  const first = firstState(observedState(observed));
  const trace = traceOf(revision, observed.composite.object);
  let outcome: PipelineOutcome = {
    ...nothing,
    desired: first.desired,
    context: surroundings.context ?? first.context,
  };
  for (const [index, step] of stepsOf(revision).entries()) {
    const state: StepState = { observed: first.observed, desired: outcome.desired, context: outcome.context };
    const call = callOf(step, index, trace, surroundings);
    const composition = compositionOf(revision);
    outcome = await runOne(step, state, outcome, { ...surroundings, call, composition });
  }
  return outcome;
}

/** The steps of a Composition or revision. */
export function stepsOf(revision: KubeObject): readonly PipelineStep[] {
  const pipeline = memberAt(revision, ["spec", "pipeline"]);
  return Array.isArray(pipeline) ? (pipeline.filter(isJsonObject) as unknown as PipelineStep[]) : [];
}

interface StepSurroundings extends PipelineSurroundings {
  readonly call: RunCall;
  readonly composition: string;
}

async function runOne(
  step: PipelineStep,
  state: StepState,
  before: PipelineOutcome,
  { runStep, sources, seeds, signal, call, composition }: StepSurroundings,
): Promise<PipelineOutcome> {
  const request = await buildRequest(step, state, { ...sources, seeds: seeds(step.step), signal }).catch(
    (error: unknown) => {
      throw naming(`pipeline step "${step.step}"`, error);
    },
  );
  const reference = { ...referenceOf(step), composition };
  const { target, response } = await runStep(reference, request, call).catch((error: unknown) => {
    const named = naming(`Function "${reference.functionName || reference.function}"`, error);
    throw wrapError(`cannot run Composition pipeline step "${step.step}"`, named);
  });
  const functionRevisions = [...before.functionRevisions, { step: step.step, functionRevision: target.revisionName }];
  const results = readResults(step.step, response);
  const events = [...before.events, ...results.events];
  const conditions = [...before.conditions, ...results.conditions];
  if (results.fatal !== undefined) {
    const { message, reason = "", target: aim } = results.fatal;
    const forClaim = isForClaim(aim);
    throw new FatalResultError({ step: step.step, message, reason, forClaim, events, conditions, functionRevisions });
  }
  return {
    desired: response.desired,
    context: response.context,
    events,
    conditions,
    requirements: [...before.requirements, ...requirementsOf(step, response)],
    schemas: [...before.schemas, ...schemasOf(step, response)],
    functionRevisions,
    ttlMs: shorter(before.ttlMs, ttlOf(response)),
  };
}

/** The error with the name of what it is about, where it does not say that itself. */
function naming(what: string, error: unknown): unknown {
  return textOf(error).includes(what) ? error : wrapError(what, error);
}

function referenceOf(step: PipelineStep): FunctionReference {
  return {
    step: step.step,
    functionName: step.functionRef?.name ?? "",
    functionRevisionRef: step.functionRevisionRef,
    functionRevisionSelector: step.functionRevisionSelector,
    function: step.function,
  };
}

function callOf(
  step: PipelineStep,
  index: number,
  trace: RunTrace,
  { deadline, signal }: PipelineSurroundings,
): RunCall {
  return { deadline, signal, step: { name: step.step, index }, trace };
}

/** Bootstrap requirements are dependencies as much as those a function asks for, whose names win when seeding. */
function requirementsOf(step: PipelineStep, { requirements }: RunFunctionResponse): readonly StepRequirement[] {
  const declared = step.requirements?.requiredResources ?? [];
  const selectors = [
    ...declared.map((wanted) => [wanted.requirementName, selectorOf(wanted)] as const),
    ...(requirements?.extraResources ?? []),
    ...(requirements?.resources ?? []),
  ];
  return selectors.map(([name, selector]) => ({ step: step.step, name, selector }));
}

function schemasOf(step: PipelineStep, { requirements }: RunFunctionResponse): readonly TypeRef[] {
  const declared = step.requirements?.requiredSchemas ?? [];
  return [...declared, ...(requirements?.schemas.values() ?? [])].map(({ apiVersion, kind }) => ({ apiVersion, kind }));
}

/** The name of the Composition of a revision. */
function compositionOf(revision: KubeObject): string {
  return textAt(revision, ["metadata", "labels", "crossplane.io/composition-name"]) ?? "";
}

function traceOf(revision: KubeObject, xr: KubeObject): RunTrace {
  const { name = "", namespace = "", uid = "" } = xr.metadata;
  const value = create(inspector.CompositionMeta, {
    compositionName: compositionOf(revision),
    compositeResourceUid: uid,
    compositeResourceName: name,
    compositeResourceNamespace: namespace,
    compositeResourceApiVersion: xr.apiVersion,
    compositeResourceKind: xr.kind,
  });
  return { traceId: randomUUID(), context: { case: "compositionMeta", value } };
}
