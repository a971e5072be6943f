// SPDX-License-Identifier: Apache-2.0

import type { Clock } from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client/objects";
import type { WatchSpec } from "@purlin/kube-controller";
import {
  conditionsOf,
  type KubeObject,
  keyOf,
  keyText,
  type ObjectKey,
  type TypeRef,
} from "@purlin/kube-objects/object";
import {
  type CompositeSchema,
  compositionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
} from "../composite-resource/crossplane-fields.ts";
import type { CompositeDeps } from "./context.ts";
import { createRunCauses, noRunCauses, type RunCauses } from "./record/run-draft.ts";
import { createStepDurations, type StepDurations } from "./run/slow-steps.ts";

import { type CircuitBreaker, createCircuitBreaker } from "./watch/circuit-breaker.ts";
import {
  createDependencyTracker,
  createWatchCollection,
  type DependencyTracker,
  type WatchCollection,
} from "./watch/dependency-tracker.ts";
import { createSelfUpdates, type SelfUpdates } from "./watch/self-updates.ts";

/** An index of the XRs that follow the revisions of a Composition. */
interface CompositionUsers {
  /** Updates the index after a change of an XR. */
  note(change: CacheChange): void;
  of(composition: string): Iterable<ObjectKey>;
}

/**
 * XRs whose functions read a schema that has just changed. An API server publishes a schema some time after it stored its
 * definition, without an event, so these XRs are reconciled a few times more.
 */
interface SettlingSchemas {
  /** A definition that an XR's functions depend on has changed. */
  changed(xr: ObjectKey): void;
  /** When to reconcile an XR again; undefined when its functions see the newest schema. */
  lookAgainMs(xr: ObjectKey): number | undefined;
  forget(xr: ObjectKey): void;
}

const settlingMs = 20_000;

/** A little longer than schema readers cache the list of schemas. */
const everyMs = 6000;

/** What a composite controller remembers between reconciles. All of it can be lost: reconciles rebuild it. */
export interface CompositeState {
  readonly breaker: CircuitBreaker;
  readonly tracker: DependencyTracker;
  readonly users: CompositionUsers;
  readonly selfUpdates: SelfUpdates;
  readonly collection: WatchCollection;
  readonly settling: SettlingSchemas;
  readonly verdicts: AwaitedVerdicts;
  readonly durations: StepDurations;
  readonly causes: RunCauses;
  readonly afterwards: Afterwards;
  /** Watches on kinds, made once for each. */
  readonly dependencyWatches: Map<string, WatchSpec>;
}

/** The name of the controller of a definition's composite resources. */
export function controllerName(definition: string): string {
  return `composite/${definition}`;
}

/** The memory of a controller that has just started. */
export function createCompositeState(deps: CompositeDeps): CompositeState {
  const { clock, engine, log } = deps;
  const controller = controllerName(deps.kind.definition);
  const dependencyWatches = new Map<string, WatchSpec>();
  const tracker = createDependencyTracker((type: TypeRef) => {
    dependencyWatches.delete(`${type.apiVersion}/${type.kind}`);
    collection.schedule();
  });
  const collection = createWatchCollection({ controller, engine, tracker: () => tracker, clock, log });
  return {
    breaker: createCircuitBreaker({ controller, clock, limits: deps.breakerLimits, metrics: deps.breakerMetrics }),
    tracker,
    users: createCompositionUsers(deps.kind.schema),
    selfUpdates: createSelfUpdates(),
    collection,
    settling: createSettlingSchemas(clock),
    verdicts: createAwaitedVerdicts(clock),
    durations: createStepDurations(),
    causes: deps.recordRun === undefined ? noRunCauses : createRunCauses(),
    afterwards: createAfterwards(),
    dependencyWatches,
  };
}

/** Work to start when the reconcile of an XR has ended. */
interface Afterwards {
  add(xr: ObjectKey, work: () => void): void;
  start(xr: ObjectKey): void;
}

function createAfterwards(): Afterwards {
  const waiting = new Map<string, (() => void)[]>();
  return {
    add(xr, work) {
      const key = keyText(xr);
      const others = waiting.get(key);
      if (others === undefined) waiting.set(key, [work]);
      else others.push(work);
    },
    start(xr) {
      if (waiting.size === 0) return;
      const key = keyText(xr);
      const works = waiting.get(key) ?? [];
      waiting.delete(key);
      for (const work of works) work();
    },
  };
}

/** Forgets an XR that is gone. */
export function forgetComposite(state: CompositeState, key: ObjectKey): void {
  const { tracker, breaker, settling, selfUpdates, verdicts, durations, causes } = state;
  causes.forget(key);
  durations.forget(key);
  verdicts.forget(key);
  selfUpdates.forget(key);
  settling.forget(key);
  tracker.forget(key);
  breaker.forget(key);
}

export function createSettlingSchemas(clock: Pick<Clock, "now">): SettlingSchemas {
  const until = new Map<string, number>();
  return {
    changed(xr) {
      until.set(keyText(xr), clock.now() + settlingMs);
    },
    lookAgainMs(xr) {
      const key = keyText(xr);
      if ((until.get(key) ?? 0) > clock.now()) return everyMs;
      until.delete(key);
      return undefined;
    },
    forget: (xr) => void until.delete(keyText(xr)),
  };
}

/** XRs follow their Composition unless they are pinned; one with a revision selector may move although it is pinned. */
export function createCompositionUsers(schema: CompositeSchema): CompositionUsers {
  const users = new Map<string, Map<string, ObjectKey>>();
  const followed = new Map<string, string>();

  function leave(key: string): void {
    const composition = followed.get(key);
    if (composition === undefined) return;
    const group = users.get(composition);
    group?.delete(key);
    if (group?.size === 0) users.delete(composition);
    followed.delete(key);
  }

  return {
    note({ type, object }) {
      const key = keyText(keyOf(object));
      const composition = type === "deleted" ? undefined : followedBy(object, schema);
      if (followed.get(key) === composition) return;
      leave(key);
      if (composition === undefined) return;
      followed.set(key, composition);
      const group = users.get(composition) ?? new Map<string, ObjectKey>();
      users.set(composition, group.set(key, keyOf(object)));
    },
    of: (composition) => users.get(composition)?.values() ?? [],
  };
}

function followedBy(xr: KubeObject, schema: CompositeSchema): string | undefined {
  const isPinned = updatePolicyOf(xr, schema) === "Manual" && revisionSelectorOf(xr, schema) === undefined;
  return isPinned ? undefined : compositionRefOf(xr, schema);
}

/**
 * XRs whose CompositionRevision is so new that its pipeline has not been checked. The check takes a moment, so such an XR
 * waits for it instead of failing its first reconcile.
 */
interface AwaitedVerdicts {
  /** Whether to wait for the condition ValidPipeline of a revision. False when it is set, or after a timeout. */
  isAwaited(xr: ObjectKey, revision: KubeObject): boolean;
  forget(xr: ObjectKey): void;
}

/** An XR waits this long. After that its status says that the state of the pipeline is unknown. */
const patienceMs = 10_000;

/** The polling interval. The verdict starts a reconcile of the XRs that are known to use the revision, which a new XR may not be yet. */
export const verdictPollMs = 250;

function createAwaitedVerdicts(clock: Pick<Clock, "now">): AwaitedVerdicts {
  const waits = new Map<string, { readonly revision: string; readonly since: number }>();
  return {
    isAwaited(xr, revision) {
      const key = keyText(xr);
      const { uid = "" } = revision.metadata;
      if (conditionsOf(revision).some(({ type }) => type === "ValidPipeline")) {
        waits.delete(key);
        return false;
      }
      const known = waits.get(key);
      const since = known?.revision === uid ? known.since : clock.now();
      waits.set(key, { revision: uid, since });
      return clock.now() - since < patienceMs;
    },
    forget: (xr) => void waits.delete(keyText(xr)),
  };
}
