// SPDX-License-Identifier: Apache-2.0

import type { CacheChange } from "@purlin/kube-client";
import {
  attempt,
  type Clock,
  type ControllerClient,
  type EventRecorder,
  isReconcileFailure,
  type ReconcileResult,
  retryBackoff,
  systemClock,
  type WatchingController,
} from "@purlin/kube-controller";
import { isConflict } from "@purlin/kube-objects/errors";
import { isDeleted, type KubeObject, labelOf, type ObjectKey } from "@purlin/kube-objects/object";
import { fieldManagers, kinds, labels } from "../composite-resource/constants.ts";
import { type ReconcileSignals, reconcileWithin } from "../reconcile-within.ts";
import { planRevisions } from "./plan-revisions.ts";

/** What the controller of Compositions works with. */
interface RevisionsDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock?: Clock | undefined;
}

const name = "revisions/composition.apiextensions.crossplane.io";
const timeoutMs = 60_000;

const steps = {
  list: { reason: "CreateRevision", text: "cannot list CompositionRevisions" },
  plan: { reason: "UpdateRevision", text: "cannot update CompositionRevision" },
  update: { reason: "UpdateRevision", text: "cannot update CompositionRevision" },
  create: { reason: "CreateRevision", text: "cannot create CompositionRevision" },
} as const;

/** The controller that keeps a CompositionRevision of every content a Composition has had. */
export function createRevisionsController(deps: RevisionsDeps): WatchingController {
  const events = deps.events.with(name);
  return {
    spec: {
      name,
      reconcile: reconcileWithin(timeoutMs, deps.clock ?? systemClock, (key, signals) =>
        reconcile({ ...deps, events }, key, signals),
      ),
      backoff: retryBackoff,
    },
    watches: [
      { type: "Composition", object: kinds.composition, keys: ({ object }) => [{ name: object.metadata.name ?? "" }] },
      { type: "CompositionRevision", object: kinds.revision, keys: compositionsOf },
    ],
  };
}

/** Before and after: a label that was changed may have taken a revision away from somebody. */
function compositionsOf(change: CacheChange): readonly ObjectKey[] {
  const objects = change.type === "updated" ? [change.previous, change.object] : [change.object];
  const names = objects.flatMap((revision) => labelOf(revision, labels.compositionName) ?? []);
  return [...new Set(names)].map((composition) => ({ name: composition }));
}

interface RevisionsPass extends RevisionsDeps {
  readonly composition: KubeObject;
  readonly signal: AbortSignal;
}

async function reconcile(deps: RevisionsDeps, key: ObjectKey, signals: ReconcileSignals): Promise<ReconcileResult> {
  const { signal, stopping } = signals;
  const composition = await deps.client.get(kinds.composition, key, { signal });
  if (composition === undefined || isDeleted(composition)) return {};
  try {
    await keepRevisions({ ...deps, composition, signal });
    return {};
  } catch (error) {
    if (!stopping.aborted) tell({ ...deps, composition, signal }, error);
    throw error;
  }
}

async function keepRevisions({ client, events, composition, signal }: RevisionsPass): Promise<void> {
  const options = { fieldManager: fieldManagers.update, signal };
  const wanted = { [labels.compositionName]: composition.metadata.name ?? "" };
  const revisions = await attempt(steps.list, () => client.list(kinds.revision, { labels: wanted, signal }));
  const { updates, create } = await attempt(steps.plan, () => planRevisions(composition, revisions));
  for (const revision of updates) await attempt(steps.update, () => client.update(revision, options));
  if (create === undefined) return;
  await attempt(steps.create, () => client.create(create, options));
  events.event(composition, { type: "Normal", reason: steps.create.reason, message: "Created new revision" });
}

/** A Composition has no status, so an event is all its author sees. A lost race is none. */
function tell({ events, composition }: RevisionsPass, error: unknown): void {
  if (!isReconcileFailure(error) || isConflict(error)) return;
  events.event(composition, { type: "Warning", reason: error.reason, message: error.message });
}
