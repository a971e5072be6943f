// SPDX-License-Identifier: Apache-2.0

import type { DevelopmentTrust, FunctionReference } from "@purlin/function-runner";
import type { CacheChange } from "@purlin/kube-client";
import {
  type Clock,
  type ControllerClient,
  type EventRecorder,
  type ReconcileResult,
  retryBackoff,
  type WatchingController,
} from "@purlin/kube-controller";
import { isConflict, textOf } from "@purlin/kube-objects/errors";
import {
  type ConditionText,
  conditionsOf,
  conditionTime,
  isDeleted,
  type KubeObject,
  labelOf,
  type ObjectKey,
  setCondition,
  stampCondition,
  withConditions,
} from "@purlin/kube-objects/object";
import { fieldManagers, kinds } from "../composite-resource/constants.ts";
import { reconcileSuccess } from "../composite-resource/standard-conditions.ts";
import { type ReconcileSignals, reconcileWithin } from "../reconcile-within.ts";
import { checkPipeline, type PipelineSurroundings } from "./check-pipeline.ts";
import {
  functionRevisionsOf,
  functionRevisionType,
  functionType,
  isUnderDevelopment,
  packageLabel,
} from "./function-revisions.ts";
import { functionReferences } from "./pipeline-steps.ts";
import { createRevisionIndex } from "./revision-index.ts";

/** What the controller of CompositionRevisions works with. */
interface RevisionValidityDeps {
  readonly client: ControllerClient;
  readonly events: EventRecorder;
  readonly clock: Clock;
  /** Whether steps may name revisions of functions. */
  readonly revisionSelectors: boolean;
  /** Whether Functions under development are honoured. */
  readonly developmentFunctions: boolean;
  /** Whose development annotations count. */
  readonly developmentTrust: DevelopmentTrust;
}

const name = "revision/compositionrevision.apiextensions.crossplane.io";
const timeoutMs = 60_000;

/** The controller that says of each CompositionRevision whether its pipeline can run: its condition ValidPipeline. */
export function createRevisionValidityController(deps: RevisionValidityDeps): WatchingController {
  const { client } = deps;
  const events = deps.events.with(name);
  const index = createRevisionIndex();
  const surroundings: PipelineSurroundings = {
    revisions: functionRevisionsOf(client),
    isUnderDevelopment: async (functionName, signal) =>
      deps.developmentFunctions &&
      (await isUnderDevelopment(client, functionName, { trust: deps.developmentTrust, signal })),
    revisionSelectors: deps.revisionSelectors,
  };
  const reconcile = reconcileWithin(timeoutMs, deps.clock, (key, signals) =>
    checkRevision({ ...deps, events, surroundings }, key, signals),
  );
  return {
    spec: { name, reconcile, backoff: retryBackoff },
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
  };
}

/** The functions a change of a FunctionRevision is about: the label may have changed as well. */
function functionsOf(change: CacheChange): readonly string[] {
  const objects = change.type === "updated" ? [change.previous, change.object] : [change.object];
  return [...new Set(objects.flatMap((revision) => labelOf(revision, packageLabel) ?? []))];
}

interface ValidityPass extends RevisionValidityDeps {
  readonly surroundings: PipelineSurroundings;
}

async function checkRevision(
  pass: ValidityPass,
  key: ObjectKey,
  { signal, stopping }: ReconcileSignals,
): Promise<ReconcileResult> {
  const revision = await pass.client.get(kinds.revision, key, { signal });
  if (revision === undefined || isDeleted(revision)) return {};
  try {
    await judge(pass, revision, signal);
    return {};
  } catch (error) {
    // Composite resources say that the state of the pipeline is unknown; whoever looks here learns why.
    if (!isConflict(error) && !stopping.aborted) {
      const message = `cannot check the functions of the pipeline: ${textOf(error)}`;
      pass.events.event(revision, { type: "Warning", reason: checkReason, message });
    }
    throw error;
  }
}

const checkReason = "CheckCapabilities";

async function judge(pass: ValidityPass, revision: KubeObject, signal: AbortSignal): Promise<void> {
  const { client, events, surroundings } = pass;
  const references: readonly FunctionReference[] = functionReferences(revision);
  const validity = await checkPipeline(references, surroundings, signal);
  const checked = withState(pass, revision, [reconcileSuccess, validity]);
  // An event when something changed, not at each look.
  if (checked === revision) return;
  await client.update(checked, { subresource: "status", fieldManager: fieldManagers.update, signal });
  const isValid = validity.status === "True";
  events.event(revision, {
    type: isValid ? "Normal" : "Warning",
    reason: checkReason,
    message: isValid ? "All functions have required composition capability" : (validity.message ?? ""),
  });
}

function withState({ clock }: ValidityPass, revision: KubeObject, texts: readonly ConditionText[]): KubeObject {
  const time = conditionTime(clock.now());
  const before = conditionsOf(revision);
  const after = texts.reduce(
    (conditions, text) => setCondition(conditions, stampCondition(text, time, revision.metadata.generation)),
    before,
  );
  return after === before ? revision : withConditions(revision, after);
}
