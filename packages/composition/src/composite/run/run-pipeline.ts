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
import { textOf, wrapError } from "@purlin/kube-objects/errors";
import { isJsonObject } from "@purlin/kube-objects/json";
import { type KubeObject, memberAt, type TypeRef, textAt } from "@purlin/kube-objects/object";
import type { StepRecord } from "@purlin/run-store";
import { type Observed, observedState } from "../observe/observe.ts";
import { recordStep } from "../record/record-step.ts";
import { FatalResultError } from "./compose-error.ts";
import type {
  FunctionRevisionUsed,
  PipelineCondition,
  PipelineEvent,
  PipelineOutcome,
  StepRequirement,
} from "./pipeline-outcome.ts";
import { isForClaim, readResults, shorter, ttlOf } from "./step-results.ts";

/** A step of a composition, complete. */
type PipelineStep = StepDefinition & {
  readonly functionRef?: { readonly name?: string };
  readonly functionRevisionRef?: { readonly name: string };
  readonly functionRevisionSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly function?: string;
};

/** The dependencies of a pipeline. */
export interface PipelineDeps {
  readonly runStep: RunStep;
  readonly sources: Pick<RequestSources, "secrets" | "resources" | "schema">;
  /** The resources that a step required in the last reconcile. */
  readonly seeds: (step: string) => ReadonlyMap<string, ResourceSelector>;
  readonly deadline: number;
  readonly signal: AbortSignal;
  readonly context?: Struct | undefined;
  /** Takes over the record of a step that has ended. */
  readonly record?: ((step: StepRecord) => void) | undefined;
}

/** The results of the steps so far. Each step appends: a copy for each step would be quadratic. */
interface StepOutput {
  readonly events: PipelineEvent[];
  readonly conditions: PipelineCondition[];
  readonly requirements: StepRequirement[];
  readonly schemas: TypeRef[];
  readonly functionRevisions: FunctionRevisionUsed[];
  ttlMs: number | undefined;
}

/**
 * Runs the steps of a revision one after the other, each on the response of the one before it. Rejects with a
 * FatalResultError when a function returns a fatal result, and with another error when a step cannot be run.
 */
export async function runPipeline(
  revision: KubeObject,
  observed: Observed,
  deps: PipelineDeps,
): Promise<PipelineOutcome> {
  const first = firstState(await observedState(observed));
  const trace = traceOf(revision, observed.composite.object);
  const output: StepOutput = {
    events: [],
    conditions: [],
    requirements: [],
    schemas: [],
    functionRevisions: [],
    ttlMs: undefined,
  };
  let state: StepState = { ...first, context: deps.context ?? first.context };
  for (const [index, step] of stepsOf(revision).entries()) {
    const { deadline, signal } = deps;
    const call: RunCall = { deadline, signal, step: { name: step.step, index }, trace };
    const composition = compositionOf(revision);
    const { desired, context } = await runOne(step, { ...deps, state, output, call, composition });
    state = { observed: first.observed, desired, context };
  }
  return { ...output, desired: state.desired, context: state.context };
}

/** The steps of a Composition or revision. */
function stepsOf(revision: KubeObject): readonly PipelineStep[] {
  const pipeline = memberAt(revision, ["spec", "pipeline"]);
  return Array.isArray(pipeline) ? (pipeline.filter(isJsonObject) as PipelineStep[]) : [];
}

interface StepDeps extends PipelineDeps {
  readonly state: StepState;
  readonly output: StepOutput;
  readonly call: RunCall;
  readonly composition: string;
}

async function runOne(
  step: PipelineStep,
  { runStep, sources, seeds, signal, state, output, call, composition, record }: StepDeps,
): Promise<Pick<RunFunctionResponse, "desired" | "context">> {
  const request = await buildRequest(step, state, { ...sources, seeds: seeds(step.step), signal }).catch(
    (error: unknown) => {
      throw naming(`pipeline step "${step.step}"`, error);
    },
  );
  const reference = { ...referenceOf(step), composition };
  const { target, response } = await recordStep(runStep, reference, { request, call, record }).catch(
    (error: unknown) => {
      const named = naming(`Function "${reference.functionName || reference.function}"`, error);
      throw wrapError(`cannot run Composition pipeline step "${step.step}"`, named);
    },
  );
  const results = readResults(step.step, response);
  append(output.functionRevisions, [{ step: step.step, functionRevision: target.revisionName }]);
  append(output.events, results.events);
  append(output.conditions, results.conditions);
  if (results.fatal !== undefined) {
    const { message, reason = "", target: aim } = results.fatal;
    const { events, conditions, functionRevisions } = output;
    const forClaim = isForClaim(aim);
    throw new FatalResultError({ step: step.step, message, reason, forClaim, events, conditions, functionRevisions });
  }
  append(output.requirements, requirementsOf(step, response));
  append(output.schemas, schemasOf(step, response));
  output.ttlMs = shorter(output.ttlMs, ttlOf(response));
  return response;
}

/** Pushes one by one: a call has a limit of arguments. */
function append<T>(list: T[], more: readonly T[]): void {
  for (const item of more) list.push(item);
}

/** The error with the name of its subject, unless it has it. */
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

/** Bootstrap requirements are dependencies like those of a function, whose names win when seeding. */
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
