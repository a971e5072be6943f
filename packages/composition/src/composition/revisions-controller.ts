// SPDX-License-Identifier: Apache-2.0

import { type Clock, type Log, silentLog, systemClock } from "@purlin/base";
import type { CacheChange } from "@purlin/kube-client";
import {
  attempt,
  type ControllerClient,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  type ReconcileResult,
  type WatchingController,
} from "@purlin/kube-controller";
import { isDeleted, labelOf, type ObjectKey } from "@purlin/kube-objects/object";
import { fieldManagers, kinds, labels } from "../composite-resource/constants.ts";
import { planRevisions } from "./plan-revisions.ts";

/** The dependencies of the controller of Compositions. */
interface RevisionsDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock?: Clock | undefined;
  readonly log?: Log | undefined;
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
  return defineController({
    client: deps.client,
    events: deps.events,
    clock: deps.clock ?? systemClock,
    log: deps.log ?? silentLog,
    name,
    type: kinds.composition,
    timeoutMs,
    watches: [
      { type: "Composition", object: kinds.composition, keys: ({ object }) => [{ name: object.metadata.name ?? "" }] },
      { type: "CompositionRevision", object: kinds.revision, keys: compositionsOf },
    ],
    // A Composition has no status: its author sees failures as events.
    reconcile: (context) => keepRevisions(context, deps.client),
  });
}

/** The Compositions before and after a change: an edited label may have taken a revision away from one of them. */
function compositionsOf(change: CacheChange): readonly ObjectKey[] {
  const objects = change.type === "updated" ? [change.previous, change.object] : [change.object];
  const names = objects.flatMap((revision) => labelOf(revision, labels.compositionName) ?? []);
  return [...new Set(names)].map((composition) => ({ name: composition }));
}

async function keepRevisions(
  { stored, signal, emit }: ReconcileContext,
  client: ControllerClient,
): Promise<ReconcileResult> {
  const composition = stored.object;
  if (isDeleted(composition)) return {};
  const options = { fieldManager: fieldManagers.update, signal };
  const wanted = { [labels.compositionName]: composition.metadata.name ?? "" };
  const revisions = await attempt(steps.list, () => client.list(kinds.revision, { labels: wanted, signal }));
  const { updates, create } = await attempt(steps.plan, () => planRevisions(composition, revisions));
  for (const revision of updates) await attempt(steps.update, () => client.update(revision, options));
  if (create === undefined) return {};
  await attempt(steps.create, () => client.create(create, options));
  emit({ reason: steps.create.reason, message: "Created new revision" });
  return {};
}
