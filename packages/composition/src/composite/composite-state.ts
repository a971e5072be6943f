// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client/objects";
import type { Clock, WatchSpec } from "@purlin/kube-controller";
import { isConflict } from "@purlin/kube-objects/errors";
import { type KubeObject, keyOf, keyText, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import {
  type CompositeSchema,
  compositionRefOf,
  revisionSelectorOf,
  updatePolicyOf,
} from "../composite-resource/machinery.ts";
import type { CompositePorts } from "./ports.ts";
import { type AwaitedVerdicts, createAwaitedVerdicts } from "./select/awaited-verdicts.ts";
import { type CircuitBreaker, createCircuitBreaker } from "./watch/circuit-breaker.ts";
import { createDependencyTracker, type DependencyTracker } from "./watch/dependency-tracker.ts";
import { createOwnEchoes, type OwnEchoes } from "./watch/own-echoes.ts";
import { createWatchCollection, type WatchCollection } from "./watch/watch-collection.ts";

/** Knows which XRs want to hear about new revisions of a Composition, without looking at all XRs. */
interface CompositionUsers {
  /** Takes note of a change of an XR. */
  note(change: CacheChange): void;
  of(composition: string): Iterable<ObjectKey>;
}

/**
 * XRs whose functions look at a schema that has just changed. An API server publishes a schema some time after it stored
 * its definition and tells nobody, so these are looked at a few times more.
 */
interface SettlingSchemas {
  /** A definition that an XR's functions depend on has changed. */
  changed(xr: ObjectKey): void;
  /** When to look at an XR again; undefined when what its functions see is what there is. */
  lookAgainMs(xr: ObjectKey): number | undefined;
  forget(xr: ObjectKey): void;
}

const settlingMs = 20_000;

/** A little more than whoever reads schemas believes a list of them. */
const everyMs = 6000;

/**
 * The conflicts that each XR met in a row. A single conflict is a race: the next reconcile reads what the other writer
 * stored, and there is nothing to report. A conflict that returns every time is a failure that users must see.
 */
interface ConflictStreaks {
  /** Whether a conflict of this XR is still taken for a race. */
  isRace(xr: ObjectKey, error: unknown): boolean;
  /** Counts a reconcile that failed with an error, or that succeeded. */
  ended(xr: ObjectKey, error?: unknown): void;
  forget(xr: ObjectKey): void;
}

/** With the delays between them this many conflicts take about 2.5 seconds. */
const mostRaces = 7;

/**
 * How long slow steps of each XR took the last time. A function that always takes long is not worth two writes of every
 * reconcile: it is reported again when it takes longer than usual.
 */
interface StepDurations {
  /** Milliseconds that a step took when it last ran; 0 when that was not long. */
  last(xr: ObjectKey, step: string): number;
  /** Remembers how long a step took, unless that is less than what counts as long. */
  record(xr: ObjectKey, step: string, duration: { readonly ms: number; readonly longMs: number }): void;
  forget(xr: ObjectKey): void;
}

/** What a composite controller remembers between passes. All of it can be lost: it is found out again. */
export interface CompositeState {
  readonly breaker: CircuitBreaker;
  readonly tracker: DependencyTracker;
  readonly users: CompositionUsers;
  readonly echoes: OwnEchoes;
  readonly collection: WatchCollection;
  readonly settling: SettlingSchemas;
  readonly conflicts: ConflictStreaks;
  readonly verdicts: AwaitedVerdicts;
  readonly durations: StepDurations;
  /** Watches on kinds, made once for each. */
  readonly dependencyWatches: Map<string, WatchSpec>;
}

/** The name of the controller of a definition's composite resources. */
export function controllerName(definition: string): string {
  return `composite/${definition}`;
}

/** The memory of a controller that has just started. */
export function createCompositeState(ports: CompositePorts): CompositeState {
  const { clock, engine, log } = ports;
  const controller = controllerName(ports.kind.definition);
  const dependencyWatches = new Map<string, WatchSpec>();
  const tracker = createDependencyTracker((type: TypeRef) => {
    dependencyWatches.delete(`${type.apiVersion}/${type.kind}`);
    collection.schedule();
  });
  const collection = createWatchCollection({ controller, engine, tracker: () => tracker, clock, log });
  return {
    breaker: createCircuitBreaker({ controller, clock, limits: ports.breakerLimits, metrics: ports.breakerMetrics }),
    tracker,
    users: createCompositionUsers(ports.kind.schema),
    echoes: createOwnEchoes(),
    collection,
    settling: createSettlingSchemas(clock),
    conflicts: createConflictStreaks(),
    verdicts: createAwaitedVerdicts(clock),
    durations: createStepDurations(),
    dependencyWatches,
  };
}

/** Forgets an XR that is gone. */
export function forgetComposite(state: CompositeState, key: ObjectKey): void {
  const { tracker, breaker, settling, echoes, conflicts, verdicts, durations } = state;
  durations.forget(key);
  conflicts.forget(key);
  verdicts.forget(key);
  echoes.forget(key);
  settling.forget(key);
  tracker.forget(key);
  breaker.forget(key);
}

/** Remembers nothing of XRs whose functions answer soon. */
function createStepDurations(): StepDurations {
  const durations = new Map<string, Map<string, number>>();
  return {
    last: (xr, step) => durations.get(keyText(xr))?.get(step) ?? 0,
    record(xr, step, { ms, longMs }) {
      const key = keyText(xr);
      const known = durations.get(key);
      if (ms >= longMs) durations.set(key, (known ?? new Map<string, number>()).set(step, ms));
      else if (known?.delete(step) && known.size === 0) durations.delete(key);
    },
    forget: (xr) => void durations.delete(keyText(xr)),
  };
}

export function createConflictStreaks(): ConflictStreaks {
  const streaks = new Map<string, number>();
  return {
    isRace: (xr, error) => isConflict(error) && (streaks.get(keyText(xr)) ?? 0) < mostRaces,
    ended(xr, error) {
      const key = keyText(xr);
      if (isConflict(error)) streaks.set(key, (streaks.get(key) ?? 0) + 1);
      else streaks.delete(key);
    },
    forget: (xr) => void streaks.delete(keyText(xr)),
  };
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
