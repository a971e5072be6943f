// SPDX-License-Identifier: Apache-2.0
import { Turns } from "@purlin/base";
import {
  defineController,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
  type WatchSpec,
} from "@purlin/kube-controller";
import { keyOf, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { watchDependents } from "./owned/claim-children.ts";
import { type SimulatorDeps, simulatedMark } from "./simulator-deps.ts";

const timeoutMs = 60_000;
// Writes of users and of other controllers meet often: a conflict is retried at once.
const backoff = { baseMs: 5, maxMs: 30_000 };

interface SimulatedController<D extends SimulatorDeps> {
  /** The name of the real controller: the source of its events. */
  readonly name: string;
  readonly type: TypeRef;
  /** The keys that a change of an object of the type reconciles: its own unless given. With "unwatched", changes reconcile nothing. */
  readonly own?: WatchSpec["keys"] | "unwatched";
  /** Kinds whose objects reconcile their owner, and those that may adopt them. */
  readonly dependents?: readonly TypeRef[];
  /** Further changes that cause a reconcile. */
  readonly watches?: readonly WatchSpec[];
  /** An object of the type no longer exists. */
  readonly onGone?: (deps: D, key: ObjectKey) => Promise<void>;
  readonly reconcile: (deps: D, context: ReconcileContext) => Promise<ReconcileResult>;
}

/** Makes one controller of the simulator. */
export function simulatedController<D extends SimulatorDeps>(
  deps: D,
  controller: SimulatedController<D>,
): WatchingController {
  const { client, events, clock, log, informers } = deps;
  const turns = new Turns();
  const { name, type, own = ({ object }) => [keyOf(object)], dependents = [], watches = [] } = controller;
  return defineController({
    ...{ name, type, client, events, clock, log, timeoutMs, backoff },
    watches: [
      ...(own === "unwatched" ? [] : [{ type: type.kind, object: type, keys: own }]),
      ...dependents.map((dependent) => watchDependents(informers, type, dependent)),
      ...watches,
    ],
    eventAnnotations: () => simulatedMark,
    onGone: async ({ key }) => {
      await controller.onGone?.(deps, key);
      return {};
    },
    reconcile: async (context) => {
      // Many begin in one turn.
      if (turns.isOver) await turns.next();
      return controller.reconcile(deps, context);
    },
  });
}

/** Asks for another reconcile after a delay; for none when there is none. */
export function requeueAfter(delayMs: number | undefined): ReconcileResult {
  return delayMs === undefined ? {} : { requeueAfterMs: delayMs };
}
