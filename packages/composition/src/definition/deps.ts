// SPDX-License-Identifier: Apache-2.0
import type { Clock, Log } from "@purlin/base";
import type {
  ControllerClient,
  ControllerEngine,
  EventRecorder,
  Reconcile,
  ReconcileContext,
  WatchSpec,
} from "@purlin/kube-controller";
import type { DefinitionFacts } from "./definition-facts.ts";
import type { DefinitionRole } from "./role.ts";

/** A controller made for the composite resources, or the claims, of one definition. */
export interface InstanceController {
  readonly reconcile: Reconcile;
  readonly watches: readonly WatchSpec[];
  /** Called when the controller has stopped for good. */
  readonly close?: (() => void) | undefined;
}

/** Makes the controller of a definition's instances. Called once for each time it is started. */
export type CreateInstanceController = (facts: DefinitionFacts) => InstanceController;

/** The dependencies of the controllers of definitions. */
export interface DefinitionDeps {
  readonly client: ControllerClient;
  readonly engine: ControllerEngine;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log: Log;
  /** Whether the status of composite resources has the function revisions that ran. */
  readonly functionRevisions: boolean;
  /** Names of definitions whose kinds accept any field. */
  readonly openDefinitions?: ReadonlySet<string> | undefined;
  /** How many objects each started controller may reconcile at the same time. */
  readonly concurrency?: number | undefined;
  /** How each started controller spaces out its retries. */
  readonly backoff?: { readonly baseMs: number; readonly maxMs: number } | undefined;
}

/** One reconcile of a definition in one role. */
export interface DefinitionContext extends ReconcileContext {
  readonly deps: DefinitionDeps;
  readonly role: DefinitionRole;
  readonly controllers: InstanceControllers;
}

const concurrentReconciles = 100;

/** The controllers that definitions have started in one role, by the name of their definition. */
export interface InstanceControllers {
  /** The facts that the running controller was started with. */
  running(definition: string): DefinitionFacts | undefined;
  /** Does nothing when it runs. */
  start(facts: DefinitionFacts): void;
  /** Starts the watches that do not run yet. */
  startWatches(definition: string, signal: AbortSignal): Promise<void>;
  /** Does nothing when it does not run. */
  stop(definition: string): Promise<void>;
}

/** A controller is created when it is started, not at every reconcile of its definition: its memory ends with it. */
export function createInstanceControllers(
  { engine, concurrency = concurrentReconciles, backoff }: DefinitionDeps,
  role: DefinitionRole,
  create: CreateInstanceController,
): InstanceControllers {
  const made = new Map<string, { readonly facts: DefinitionFacts; readonly controller: InstanceController }>();
  const nameOf = (definition: string): string => `${role.prefix}/${definition}`;
  const forget = (definition: string): void => {
    made.get(definition)?.controller.close?.();
    made.delete(definition);
  };
  const running = (definition: string): DefinitionFacts | undefined =>
    engine.isRunning(nameOf(definition)) ? made.get(definition)?.facts : undefined;
  return {
    running,
    start(facts) {
      if (running(facts.name) !== undefined) return;
      // A controller that ended by itself is created again.
      forget(facts.name);
      const controller = create(facts);
      engine.start({ name: nameOf(facts.name), reconcile: controller.reconcile, concurrency, backoff });
      made.set(facts.name, { facts, controller });
    },
    async startWatches(definition, signal) {
      await engine.startWatches(nameOf(definition), made.get(definition)?.controller.watches ?? [], signal);
    },
    async stop(definition) {
      await engine.stop(nameOf(definition));
      forget(definition);
    },
  };
}
