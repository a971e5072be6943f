// SPDX-License-Identifier: Apache-2.0

import { type Clock, type Log, silentLog } from "@purlin/base";
import type { DevelopmentTrust } from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import {
  attempt,
  type ControllerClient,
  defineController,
  type EventRecorder,
  type ReconcileContext,
  type WatchingController,
  withConditionTexts,
} from "@purlin/kube-controller";
import { isDeleted, labelOf } from "@purlin/kube-objects/object";
import { kinds } from "../composite-resource/constants.ts";
import { reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import { checkPipeline, type PipelineDeps } from "./check-pipeline.ts";
import {
  functionReferences,
  functionRevisionsOf,
  functionRevisionType,
  functionType,
  isUnderDevelopment,
  packageLabel,
} from "./function-revisions.ts";
import { createRevisionIndex } from "./revision-index.ts";

/** The dependencies of the controller of CompositionRevisions. */
interface RevisionValidityDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly log?: Log | undefined;
  /** Whether steps may name revisions of functions. */
  readonly revisionSelectors: boolean;
  /** Whether Functions under development are honoured. */
  readonly developmentFunctions: boolean;
  /** Whose development annotations count. */
  readonly developmentTrust: DevelopmentTrust;
}

const name = "revision/compositionrevision.apiextensions.crossplane.io";
const timeoutMs = 60_000;

/** The controller that sets the condition ValidPipeline of each CompositionRevision. */
export function createRevisionValidityController(deps: RevisionValidityDeps): WatchingController {
  const { client, events, clock, log = silentLog } = deps;
  const index = createRevisionIndex();
  const pipeline: PipelineDeps = {
    revisions: functionRevisionsOf(client),
    isUnderDevelopment: async (functionName, signal) =>
      deps.developmentFunctions &&
      (await isUnderDevelopment(client, functionName, { trust: deps.developmentTrust, signal })),
    revisionSelectors: deps.revisionSelectors,
  };
  return defineController({
    client,
    events,
    clock,
    log,
    name,
    type: kinds.revision,
    timeoutMs,
    // Composite resources only report that the state of the pipeline is unknown; the event on the revision has the cause.
    reconcile: (context) => attempt(check, () => checkRevision(context, { pipeline, clock })),
    watches: [
      {
        type: "CompositionRevision",
        object: kinds.revision,
        keys: (change) => {
          index.note(change);
          return [{ name: change.object.metadata.name ?? "" }];
        },
      },
      { type: "FunctionRevision", object: functionRevisionType, keys: (change) => index.using(functionsOf(change)) },
      { type: "Function", object: functionType, keys: ({ object }) => index.using([object.metadata.name ?? ""]) },
    ],
  });
}

/** The functions a change of a FunctionRevision is about: the label may have changed as well. */
function functionsOf(change: CacheChange): readonly string[] {
  const objects = change.type === "updated" ? [change.previous, change.object] : [change.object];
  return [...new Set(objects.flatMap((revision) => labelOf(revision, packageLabel) ?? []))];
}

const check = { reason: "CheckCapabilities", text: "cannot check the functions of the pipeline" };

async function checkRevision(
  { stored, signal, emit, writeStatus }: ReconcileContext,
  { pipeline, clock }: { readonly pipeline: PipelineDeps; readonly clock: Clock },
): Promise<Record<string, never>> {
  const revision = stored.object;
  if (isDeleted(revision)) return {};
  const validity = await checkPipeline(functionReferences(revision), pipeline, signal);
  const checked = withConditionTexts(revision, [reconcileSuccess, validity], clock);
  // One event when something changed, not one per reconcile.
  if (checked === revision) return {};
  await writeStatus(checked);
  const isValid = validity.status === "True";
  emit({
    type: isValid ? "Normal" : "Warning",
    reason: check.reason,
    message: isValid ? "All functions have required composition capability" : (validity.message ?? ""),
  });
  return {};
}
