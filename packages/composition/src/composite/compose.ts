// SPDX-License-Identifier: Apache-2.0

import type { Resource } from "@purlin/function-protocol";
import { type RunStep, secretsFrom } from "@purlin/function-runner";
import { type JsonValue, jsonEqual } from "@purlin/kube-objects/json";
import { type KubeObject, withMember } from "@purlin/kube-objects/object";
import { type CompositeSchema, withCrossplaneFields } from "../composite-resource/crossplane-fields.ts";
import {
  type AppliedResources,
  applyComposed,
  applyReferences,
  collectGarbage,
  referencesTo,
} from "./apply/apply-composed.ts";
import { type DesiredResources, desiredResources } from "./apply/desired-resources.ts";
import type { CompositeContext } from "./context.ts";
import { type Arrival, departing, findArrivals, takeOver } from "./guard/adopt.ts";
import { guardPolicyOf, type Hold, judge, planChanges, type Verdict } from "./guard/guard.ts";
import { asNamed, type Move, movedNames, movesOf, renamesOf, withRenames } from "./guard/moves.ts";
import { clientReader, noDetails, type Observed, observe } from "./observe/observe.ts";
import { beginApproved, settleApproval } from "./report/report-held.ts";
import { type PipelineDeps, runPipeline } from "./run/run-steps.ts";
import { reportSlowSteps } from "./run/slow-steps.ts";
import { ComposeError, type PipelineOutcome } from "./run/step-results.ts";
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

/** The result for an XR that must not be applied until its plan is approved. */
export interface HeldResult {
  readonly held: Hold;
  readonly outcome: PipelineOutcome;
}

/**
 * Composes an XR: observes, runs the pipeline, deletes resources that are no longer desired, stores references, applies. References
 * are stored before the resources they name are created, and removed after those are deleted, so that wherever this ends the next
 * reconcile finds every resource. Nothing is written for an XR that is held.
 */
export async function compose(revision: KubeObject, context: CompositeContext): Promise<ComposeResult | HeldResult> {
  try {
    const draft = await draftOf(revision, context);
    const { hold, approved } = await guard(revision, draft, context);
    if (hold !== undefined && context.deps.onHeld === undefined) return await held(hold, draft, context);
    if (hold !== undefined) context.deps.onHeld?.(context.stored.object, hold);
    if (approved !== undefined) await beginApproved(approved, context);
    else if (hold === undefined) await settleApproval(context);
    return await apply(draft, context);
  } catch (error) {
    throw new ComposeError(error);
  }
}

/** What a pipeline wants of an XR, before anything is written. */
interface Draft {
  /** Under the names of now: renames are done. */
  readonly observed: Observed;
  readonly outcome: PipelineOutcome;
  readonly desired: DesiredResources;
  /** Resources that another XR takes over. */
  readonly departing: readonly KubeObject[];
  /** Resources that come from another XR. */
  readonly arrivals: readonly Arrival[];
  /** Moves that are declared and cannot be done. */
  readonly impossible: readonly string[];
}

async function draftOf(revision: KubeObject, context: CompositeContext): Promise<Draft> {
  const { deps, signal, stored } = context;
  const observed = await observe(stored.object, { kind: deps.kind, client: deps.client, signal });
  const moves = movesOf(stored.object, revision);
  const draft = await runOn(revision, { observed, moves }, context);
  return moves.length === 0 ? draft : withMoves(moves, { revision, draft }, context);
}

interface PipelineInput {
  readonly observed: Observed;
  /** The observed resources as functions see them. */
  readonly seen?: Observed;
  readonly moves: readonly Move[];
}

/** Runs the pipeline on observed resources, which functions may see in another form than the stored one. */
async function runOn(
  revision: KubeObject,
  { observed, seen = observed, moves }: PipelineInput,
  context: CompositeContext,
): Promise<Draft> {
  const { deps, signal, stored } = context;
  const outcome = await run(revision, { observed: seen, moves }, context);
  const xr = stored.object;
  deps.onPipeline?.(xr, outcome.context);
  const { mapper } = deps.client;
  const desired = await desiredResources(outcome.desired, { xr, observed, mapper, signal, refuse: deps.refuse });
  return { observed, outcome, desired, departing: [], arrivals: [], impossible: [] };
}

/** The draft after the moves. Functions have to see resources under their new names, so the pipeline runs again when one has moved. */
async function withMoves(
  moves: readonly Move[],
  { revision, draft }: { readonly revision: KubeObject; readonly draft: Draft },
  context: CompositeContext,
): Promise<Draft> {
  const { deps, signal, stored } = context;
  const { resources } = draft.desired;
  const found = { xr: stored.object, observed: draft.observed, desired: resources };
  const { arrivals, impossible } = await findArrivals(moves, found, { client: deps.client, signal });
  const renames = renamesOf(moves, draft.observed, resources);
  const observed = withArrivals(withRenames(draft.observed, renames), arrivals);
  const isMoved = arrivals.length > 0 || renames.renamed.size > 0;
  if (isMoved) context.run?.restart();
  const next = isMoved ? await runOn(revision, { observed, seen: asNamed(observed), moves }, context) : draft;
  const leaving = departing(moves, next.observed, new Set(next.desired.resources.map(({ name }) => name)));
  const kept = new Map([...next.observed.resources].filter(([name]) => !leaving.has(name)));
  return {
    ...next,
    observed: { ...next.observed, resources: kept },
    departing: [...leaving].flatMap((name) => next.observed.resources.get(name)?.object ?? []),
    arrivals,
    impossible: [...impossible, ...renames.impossible],
  };
}

function withArrivals(observed: Observed, arrivals: readonly Arrival[]): Observed {
  const resources = new Map(observed.resources);
  for (const { name, object } of arrivals) resources.set(name, { object, connectionDetails: noDetails });
  return { ...observed, resources };
}

/** Judges what would be deleted or replaced. There is nothing to judge in most reconciles. */
async function guard(revision: KubeObject, draft: Draft, context: CompositeContext): Promise<Verdict> {
  const { deps, stored, definition } = context;
  const { observed, desired, departing: kept, impossible } = draft;
  if (impossible.length > 0) {
    const message = `Nothing is applied: a move cannot be done: ${impossible.join("; ")}: correct the declaration, or remove it`;
    return { hold: { reason: "MoveImpossible", message, hash: undefined, changes: [] }, approved: undefined };
  }
  const plan = planChanges({ observed, desired: desired.resources, kept, schema: deps.kind.schema });
  if (plan === undefined) return { hold: undefined, approved: undefined };
  const annotated = definition.facts?.annotated;
  return judge(plan, guardPolicyOf(annotated === undefined ? [revision] : [revision, annotated]), stored.object);
}

/** Remembers what the XR depends on: a change of it may end the hold. */
async function held(hold: Hold, { observed, outcome }: Draft, context: CompositeContext): Promise<HeldResult> {
  const composed = [...observed.resources.values()].map(({ object }) => object);
  await recordDependencies(context, { composed, outcome });
  return { held: hold, outcome };
}

async function apply(draft: Draft, context: CompositeContext): Promise<ComposeResult> {
  const { deps, signal, stored } = context;
  const { client, kind } = deps;
  const { outcome, desired } = draft;
  const xr = stored.object;
  const objects = [...desired.resources.map(({ object }) => object), ...draft.departing];
  const names = new Set(desired.resources.map(({ name }) => name));
  await collectGarbage(draft.observed, names, { client, signal });
  const referred = await applyReferences(xr, referencesTo(objects, xr), { client, schema: kind.schema, signal });
  stored.object = withSeenGeneration(xr, referred, kind.schema);
  if (stored.object !== xr && onlyAddedReferences(xr, stored.object, kind.schema)) {
    context.state.selfUpdates.expect(stored.object);
  }
  // Before the resources are created: the watch event of a resource must find its XR.
  await recordDependencies(context, { composed: objects, outcome });
  const observed = await withTakenOver(draft, context);
  const composite = { read: xr, stored: referred };
  const applied = await applyComposed(desired.resources, { observed, composite, client, signal });
  return { outcome, applied, desired, composite: outcome.desired?.composite };
}

async function withTakenOver(
  { observed, arrivals }: Draft,
  { deps, signal, stored }: CompositeContext,
): Promise<Observed> {
  const { client } = deps;
  const taken: Arrival[] = [];
  for (const arrival of arrivals) {
    taken.push({ ...arrival, object: await takeOver(arrival, stored.object, { client, signal }) });
  }
  return taken.length === 0 ? observed : withArrivals(observed, taken);
}

async function run(
  revision: KubeObject,
  { observed, moves }: PipelineInput,
  context: CompositeContext,
): Promise<PipelineOutcome> {
  const slow = reportSlowSteps(context);
  try {
    const deps = { ...pipelineDeps(context, slow.runStep), moved: movedNames(moves) };
    return await runPipeline(revision, observed, deps);
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
    afterwards: (work) => state.afterwards.add(key, work),
    record: context.run && ((step) => void context.run?.steps.push(step)),
  };
}
