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
  type CompositeSubject,
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
import { recordStep } from "../record/run-draft.ts";
import {
  FatalResultError,
  type FunctionRevisionUsed,
  isForClaim,
  type PipelineCondition,
  type PipelineEvent,
  type PipelineOutcome,
  readResults,
  type StepRequirement,
  shorter,
  ttlOf,
} from "./step-results.ts";

/** A step of a pipeline, complete. */
type PipelineStep = StepDefinition & {
  readonly functionRef?: { readonly name?: string };
  readonly functionRevisionRef?: { readonly name: string };
  readonly functionRevisionSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly function?: string;
};

/** The texts of errors, which differ between Compositions and Operations. */
export interface PipelineTexts {
  /** Whose pipeline it is, in the errors about inputs and credentials. */
  readonly pipeline: "Composition" | "operation";
  /** The error of a request that cannot be built. */
  readonly request: (step: string, error: unknown) => unknown;
  /** The error of a function that cannot be called. */
  readonly call: (step: string, functionName: string, error: unknown) => unknown;
}

/** A pipeline, and what its first step starts from. */
interface Pipeline {
  readonly steps: readonly PipelineStep[];
  readonly first: StepState;
  readonly trace: RunTrace;
  readonly texts: PipelineTexts;
  /** The Composition and the composite resource; an Operation has neither. */
  readonly subject?: Pick<FunctionReference, "composition" | "composite"> | undefined;
  /** Call every function although a cache has its response. */
  readonly uncached?: boolean | undefined;
}

/** The dependencies of the steps of a pipeline. */
interface StepsDeps {
  readonly runStep: RunStep;
  readonly sources: Pick<RequestSources, "secrets" | "resources" | "schema">;
  /** The resources that a step required in the last reconcile. */
  readonly seeds: (step: string) => ReadonlyMap<string, ResourceSelector>;
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Takes over work to start when the reconcile has ended. */
  readonly afterwards?: RunCall["afterwards"];
  /** Takes over the record of a step that has ended. */
  readonly record?: ((step: StepRecord) => void) | undefined;
  /** Called with each response and the events of its results, before a fatal result ends the pipeline. */
  readonly onResponse?:
    | ((step: string, response: RunFunctionResponse, events: readonly PipelineEvent[]) => void)
    | undefined;
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
 * Runs steps one after the other, each on the response of the one before it. Rejects with a FatalResultError when a function
 * returns a fatal result, and with another error when a step cannot be run.
 */
export async function runSteps(pipeline: Pipeline, deps: StepsDeps): Promise<PipelineOutcome> {
  const { first, trace, uncached } = pipeline;
  const output: StepOutput = {
    events: [],
    conditions: [],
    requirements: [],
    schemas: [],
    functionRevisions: [],
    ttlMs: undefined,
  };
  let state = first;
  for (const [index, step] of pipeline.steps.entries()) {
    const { deadline, signal, afterwards } = deps;
    const call: RunCall = { deadline, signal, step: { name: step.step, index }, trace, uncached, afterwards };
    const { desired, context } = await runOne(step, { ...deps, pipeline, state, output, call });
    state = { observed: first.observed, desired, context };
  }
  return { ...output, desired: state.desired, context: state.context };
}

/** The steps of a Composition, a revision or an Operation. */
export function stepsOf(object: KubeObject): readonly PipelineStep[] {
  const pipeline = memberAt(object, ["spec", "pipeline"]);
  return Array.isArray(pipeline) ? (pipeline.filter(isJsonObject) as PipelineStep[]) : [];
}

interface StepDeps extends StepsDeps {
  readonly pipeline: Pipeline;
  readonly state: StepState;
  readonly output: StepOutput;
  readonly call: RunCall;
}

async function runOne(
  step: PipelineStep,
  { runStep, sources, seeds, signal, pipeline, state, output, call, record, onResponse }: StepDeps,
): Promise<Pick<RunFunctionResponse, "desired" | "context">> {
  const { texts, subject } = pipeline;
  const wanted = { ...sources, seeds: seeds(step.step), signal, pipeline: texts.pipeline };
  const request = await buildRequest(step, state, wanted).catch((error: unknown) => {
    throw texts.request(step.step, error);
  });
  const reference = { ...referenceOf(step), ...subject };
  const { target, response } = await recordStep(runStep, reference, { request, call, record }).catch(
    (error: unknown) => {
      throw texts.call(step.step, reference.functionName || reference.function || "", error);
    },
  );
  const results = readResults(step.step, response);
  append(output.functionRevisions, [{ step: step.step, functionRevision: target.revisionName }]);
  append(output.events, results.events);
  append(output.conditions, results.conditions);
  onResponse?.(step.step, response, results.events);
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

/** The dependencies of a pipeline. */
export interface PipelineDeps extends StepsDeps {
  readonly context?: Struct | undefined;
  /** Moves of composed resources that the XR or its Composition declares. */
  readonly moved?: CompositeSubject["moved"];
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
  return runSteps(
    {
      steps: stepsOf(revision),
      first: { ...first, context: deps.context ?? first.context },
      trace: traceOf(revision, observed.composite.object),
      texts,
      subject: {
        composition: compositionOf(revision),
        composite: { ...subjectOf(revision, observed.composite.object), ...(deps.moved && { moved: deps.moved }) },
      },
    },
    deps,
  );
}

const texts: PipelineTexts = {
  pipeline: "Composition",
  request: (step, error) => naming(`pipeline step "${step}"`, error),
  call: (step, functionName, error) =>
    wrapError(`cannot run Composition pipeline step "${step}"`, naming(`Function "${functionName}"`, error)),
};

/** The error with the name of its subject, unless it has it. */
function naming(what: string, error: unknown): unknown {
  return textOf(error).includes(what) ? error : wrapError(what, error);
}

/** The name of the Composition of a revision. */
function compositionOf(revision: KubeObject): string {
  return textAt(revision, ["metadata", "labels", "crossplane.io/composition-name"]) ?? "";
}

/** One for each reconcile: rollouts decide once for it. */
function subjectOf(revision: KubeObject, { apiVersion, kind, metadata }: KubeObject): CompositeSubject {
  const { uid = "", name = "", namespace } = metadata;
  const labels = metadata.labels ?? {};
  return { uid, apiVersion, kind, namespace, name, labels, compositionLabels: revision.metadata.labels ?? {} };
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
