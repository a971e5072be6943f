// SPDX-License-Identifier: Apache-2.0

import type { JsonObject } from "@purlin/kube-objects/json";
import type { CompositeSubject, FunctionTarget } from "../function-runner.ts";
import { wrapError } from "../runner-error.ts";
import type { FunctionReference, FunctionResolver } from "./function-resolver.ts";
import {
  bucketOf,
  carriesAll,
  decidingRollout,
  isLiveRollout,
  isMember,
  type RolloutView,
  readRollout,
} from "./rollout-view.ts";

/** Where FunctionRollouts are read from. */
export interface Rollouts {
  list(signal?: AbortSignal): Promise<readonly JsonObject[]>;
}

/** The decision of a rollout about one step of one composite resource. */
interface RolloutDecision {
  readonly rollout: RolloutView;
  /** The revision that serves the step. */
  readonly revision: string;
  /** The candidate, when it is to be run beside the stable revision. */
  readonly shadow?: string | undefined;
}

/** The dependencies of {@link createRolloutResolver}. */
interface RolloutResolverOptions {
  readonly rollouts: Rollouts;
  /** Called when the revision that a rollout chose cannot be called. */
  readonly onUnresolved?: ((revisionName: string) => void) | undefined;
}

/**
 * Serves steps whose function is being rolled out from the revision that the rollout chooses for the composite resource, and all
 * others through `next`. Rollouts are read once a reconcile, so that no composite resource is served by both revisions in one. A step
 * that pins its revision, by name or by digest, keeps it.
 */
export function createRolloutResolver(next: FunctionResolver, options: RolloutResolverOptions): FunctionResolver {
  const snapshots = new WeakMap<CompositeSubject, Promise<readonly RolloutView[]>>();
  const snapshotOf = (subject: CompositeSubject): Promise<readonly RolloutView[]> => {
    const taken = snapshots.get(subject) ?? readAll(options.rollouts);
    snapshots.set(subject, taken);
    return taken;
  };
  return {
    async resolve(reference, signal) {
      const { composite } = reference;
      if (composite === undefined || isPinned(reference)) return next.resolve(reference, signal);
      const decision = decide(await snapshotOf(composite), reference, composite);
      if (decision === undefined) return next.resolve(reference, signal);
      const chosen = await resolveChosen(next, { reference, decision, options, signal });
      const target = { ...chosen, isRolledOut: true };
      const candidate = decision.shadow && (await find(next, reference, decision.shadow));
      if (!candidate) return target;
      const { uid, name } = decision.rollout;
      return { ...target, shadow: { rollout: { uid, name }, candidate, composite } };
    },
  };
}

function isPinned({ functionRevisionRef, function: image }: FunctionReference): boolean {
  return functionRevisionRef !== undefined || image !== undefined;
}

async function readAll(rollouts: Rollouts): Promise<readonly RolloutView[]> {
  try {
    return (await rollouts.list()).map(readRollout);
  } catch (error) {
    throw wrapError("FETCH", "cannot list FunctionRollouts", error);
  }
}

/** The decision about a step of a composite resource; undefined when no rollout concerns it. */
function decide(
  views: readonly RolloutView[],
  { functionName }: Pick<FunctionReference, "functionName">,
  subject: CompositeSubject,
): RolloutDecision | undefined {
  if (views.length === 0) return undefined;
  const concerned = views.filter(
    ({ functions, compositionLabels }) =>
      functions.has(functionName) && carriesAll(subject.compositionLabels, compositionLabels),
  );
  const rollout = decidingRollout(concerned);
  const sides = rollout?.functions.get(functionName);
  if (rollout === undefined || sides === undefined) return undefined;
  const { stable, candidate } = sides;
  if (candidate === undefined) return { rollout, revision: stable };
  if (isMember(rollout, subject)) return { rollout, revision: candidate };
  const isShadowed = isLiveRollout(rollout) && bucketOf(rollout.uid, subject.uid) < rollout.shadowThreshold;
  return { rollout, revision: stable, ...(isShadowed && { shadow: candidate }) };
}

interface Chosen {
  readonly reference: FunctionReference;
  readonly decision: RolloutDecision;
  readonly options: RolloutResolverOptions;
  readonly signal: AbortSignal | undefined;
}

/** A rollout never falls back to the other revision: that would serve a composite resource by both. */
async function resolveChosen(next: FunctionResolver, { reference, decision, options, signal }: Chosen) {
  try {
    return await next.resolve(named(reference, decision.revision), signal);
  } catch (error) {
    options.onUnresolved?.(decision.revision);
    throw wrapError("FETCH", `FunctionRollout "${decision.rollout.name}"`, error);
  }
}

/** The candidate of a shadow run; a step does not fail because the candidate cannot be called. */
async function find(
  next: FunctionResolver,
  reference: FunctionReference,
  revision: string,
): Promise<FunctionTarget | undefined> {
  return next.resolve(named(reference, revision)).catch(() => undefined);
}

function named(reference: FunctionReference, name: string): FunctionReference {
  return { ...reference, functionRevisionRef: { name }, functionRevisionSelector: undefined };
}
