// SPDX-License-Identifier: Apache-2.0

import type { Resource } from "@purlin/function-protocol";
import { type RunStep, secretsFrom } from "@purlin/function-runner";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { type CompositeSchema, withCrossplaneFields } from "../composite-resource/crossplane-fields.ts";
import { type AppliedResources, applyComposed } from "./apply/apply-composed.ts";
import { type DesiredResources, desiredResources } from "./apply/desired-resources.ts";
import { applyReferences, referencesTo } from "./apply/references.ts";
import { collectGarbage } from "./collect/collect-garbage.ts";
import type { CompositeContext } from "./context.ts";
import { clientReader, type Observed, observe } from "./observe/observe.ts";
import { ComposeError } from "./run/compose-error.ts";
import type { PipelineOutcome } from "./run/pipeline-outcome.ts";
import { type PipelineDeps, runPipeline } from "./run/run-pipeline.ts";
import { reportSlowSteps } from "./run/slow-steps.ts";
import { onlyAddedReferences } from "./watch/self-updates.ts";
import { recordDependencies } from "./watch/watches.ts";

/** The result of composing an XR. */
export interface ComposeResult {
  readonly outcome: PipelineOutcome;
  readonly applied: AppliedResources;
  /** Its events come after those of the pipeline. */
  readonly desired: DesiredResources;
  /** What the pipeline wants of the XR itself. */
  readonly composite: Resource | undefined;
}

/**
 * Composes an XR: observes, runs the pipeline, deletes resources that are no longer desired, stores references, applies. References
 * are stored before the resources they name are created, and removed after those are deleted, so that wherever this ends the next
 * reconcile finds every resource.
 */
export async function compose(revision: KubeObject, context: CompositeContext): Promise<ComposeResult> {
  try {
    return await composeResources(revision, context);
  } catch (error) {
    throw new ComposeError(error);
  }
}

async function composeResources(revision: KubeObject, context: CompositeContext): Promise<ComposeResult> {
  const { deps, signal, stored } = context;
  const { client, kind } = deps;
  const observed = await observe(stored.object, { kind, client, signal });
  const outcome = await run(revision, observed, context);
  const xr = stored.object;
  deps.onPipeline?.(xr, outcome.context);
  const desired = await desiredResources(outcome.desired, {
    xr,
    observed,
    mapper: client.mapper,
    signal,
    refuse: deps.refuse,
  });
  const objects = desired.resources.map(({ object }) => object);
  const names = new Set(desired.resources.map(({ name }) => name));
  await collectGarbage(observed, names, { client, signal });
  const referred = await applyReferences(xr, referencesTo(objects, xr), { client, schema: kind.schema, signal });
  stored.object = withSeenGeneration(xr, referred, kind.schema);
  if (stored.object !== xr && onlyAddedReferences(xr, stored.object, kind.schema)) {
    context.state.selfUpdates.expect(stored.object);
  }
  // Before the resources are created: the watch event of a resource must find its XR.
  await recordDependencies(context, { composed: objects, outcome });
  const applied = await applyComposed(desired.resources, {
    observed,
    composite: { read: xr, stored: referred },
    client,
    signal,
  });
  return { outcome, applied, desired, composite: outcome.desired?.composite };
}

async function run(revision: KubeObject, observed: Observed, context: CompositeContext): Promise<PipelineOutcome> {
  const slow = reportSlowSteps(context);
  try {
    return await runPipeline(revision, observed, pipelineDeps(context, slow.runStep));
  } finally {
    // Whether the pipeline succeeds or fails, the next write is based on the newest version.
    await slow.settled();
  }
}

/** Functions have not seen a change that a user made while they ran: no condition may carry its generation. */
function withSeenGeneration(before: KubeObject, stored: KubeObject, schema: CompositeSchema): KubeObject {
  const specOf = (xr: KubeObject): JsonValue =>
    (withCrossplaneFields(xr, schema, { resourceRefs: undefined })["spec"] ?? null) as JsonValue;
  if (stored === before || jsonEqual(specOf(before), specOf(stored))) return stored;
  return withMember(stored, ["metadata", "generation"], before.metadata.generation);
}

/** The time between the deadline of functions and that of the reconcile: only then is it known which function was too slow. */
function headroomMs(timeoutMs: number): number {
  return Math.min(1000, timeoutMs / 10);
}

function pipelineDeps(context: CompositeContext, runStep: RunStep): PipelineDeps {
  const { deps, key, state, settings, deadline, timeoutMs, signal } = context;
  return {
    runStep,
    sources: { secrets: secretsFrom(clientReader(deps.client)), ...deps.fetchers },
    seeds: (step) => (settings.realtime ? state.tracker.seeds(key, step) : new Map()),
    deadline: deadline - headroomMs(timeoutMs),
    signal,
    context: deps.context,
    record: context.run && ((step) => void context.run?.steps.push(step)),
  };
}
