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
import type { InstanceControllers } from "./instance-controllers.ts";
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
