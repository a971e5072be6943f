// SPDX-License-Identifier: Apache-2.0

import type { WatchSpec } from "@purlin/kube-controller";
import type { ObjectKey, TypeRef } from "@purlin/kube-objects/object";
import { type ConflictStreaks, createConflictStreaks } from "./conflict-streaks.ts";
import type { CompositePorts } from "./ports.ts";
import { createStepDurations, type StepDurations } from "./run/step-durations.ts";
import { type AwaitedVerdicts, createAwaitedVerdicts } from "./select/awaited-verdicts.ts";
import { type CircuitBreaker, createCircuitBreaker } from "./watch/circuit-breaker.ts";
import { type CompositionUsers, createCompositionUsers } from "./watch/composition-users.ts";
import { createDependencyTracker, type DependencyTracker } from "./watch/dependency-tracker.ts";
import { createOwnEchoes, type OwnEchoes } from "./watch/own-echoes.ts";
import { createSettlingSchemas, type SettlingSchemas } from "./watch/settling-schemas.ts";
import { createWatchCollection, type WatchCollection } from "./watch/watch-collection.ts";

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
