// SPDX-License-Identifier: Apache-2.0

import { randomUUID } from "node:crypto";
import { create, inspector, type Struct } from "@purlin/function-protocol";
import { type CompositeSubject, firstState, type RunTrace } from "@purlin/function-runner";
import { textOf, wrapError } from "@purlin/kube-objects/errors";
import { type KubeObject, textAt } from "@purlin/kube-objects/object";
import { type Observed, observedState } from "../observe/observe.ts";
import { type PipelineTexts, runSteps, type StepsDeps, stepsOf } from "./run-steps.ts";
import type { PipelineOutcome } from "./step-results.ts";

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
