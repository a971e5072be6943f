// SPDX-License-Identifier: Apache-2.0

import { type Clock, type Log, silentLog } from "@purlin/base";
import {
  type DevelopmentTrust,
  type FoundRevision,
  type FunctionReference,
  type FunctionRevisions,
  findRevision,
  isRunnerError,
} from "@purlin/function-runner";
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
import { goQuote } from "@purlin/kube-objects/json";
import { type ConditionText, isDeleted, labelOf } from "@purlin/kube-objects/object";
import { kinds, reconcileSuccess } from "../composite-resource/constants.ts";
import {
  createRevisionIndex,
  functionReferences,
  functionRevisionsOf,
  functionRevisionType,
  functionType,
  isUnderDevelopment,
  packageLabel,
} from "./function-revisions.ts";

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

/** The dependencies of a pipeline check. */
interface PipelineDeps {
  readonly revisions: FunctionRevisions;
  /** Whether a function runs without a package, and so has no revision to check. */
  readonly isUnderDevelopment: (functionName: string, signal?: AbortSignal) => Promise<boolean>;
  /** Whether steps may name revisions of functions. */
  readonly revisionSelectors: boolean;
  /** The capability that functions must have; that of composing unless given. */
  readonly capability?: string | undefined;
}

const validPipeline: ConditionText = { type: "ValidPipeline", status: "True", reason: "ValidPipeline" };

function invalid(reason: string, message: string): ConditionText {
  return { type: "ValidPipeline", status: "False", reason, message };
}

/**
 * Whether each step's function has the needed capability, by the revision that the step resolves to now. A function that is not
 * installed, or whose package has not been read yet, does not make a pipeline invalid: the step reports what is missing.
 */
export async function checkPipeline(
  references: readonly FunctionReference[],
  deps: PipelineDeps,
  signal?: AbortSignal,
): Promise<ConditionText> {
  const closed = deps.revisionSelectors ? undefined : references.map(closedField).find(Boolean);
  if (closed !== undefined) return invalid("FeatureDisabled", closed);
  const problems: string[] = [];
  for (const reference of references) {
    const problem = await problemOf(reference, deps, signal);
    if (problem !== undefined && !problems.includes(problem)) problems.push(problem);
  }
  return problems.length === 0 ? validPipeline : invalid("MissingCapabilities", problems.join("; "));
}

const selectingFields = ["functionRevisionRef", "functionRevisionSelector", "function"] as const;

/** A disabled field must not be ignored: another revision than the one that the step names would run. */
function closedField(reference: FunctionReference): string | undefined {
  const field = selectingFields.find((name) => reference[name] !== undefined);
  if (field === undefined) return undefined;
  return `pipeline step ${goQuote(reference.step)} uses ${field}, which needs --enable-function-revision-selectors`;
}

async function problemOf(
  reference: FunctionReference,
  { revisions, isUnderDevelopment, capability = "composition" }: PipelineDeps,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const { functionName } = reference;
  if (functionName !== "" && (await isUnderDevelopment(functionName, signal))) return undefined;
  const found = await foundOrNothing(revisions, reference, signal);
  if (found === undefined || !found.revision.isExamined) return undefined;
  if (found.revision.capabilities.map(normalized).includes(capability)) return undefined;
  const names = `function ${goQuote(found.functionName)} (active revision ${goQuote(found.revision.name)})`;
  return `${names} is missing required capabilities: ${capability}`;
}

/** Capabilities are compared by their letters and digits. */
function normalized(capability: string): string {
  return capability.replaceAll(/[^a-zA-Z0-9]/g, "").toLowerCase();
}

const nothingServes: ReadonlySet<string> = new Set([
  "NO_ACTIVE_REVISION",
  "REVISION_NOT_FOUND",
  "REVISION_FOREIGN",
  "REVISION_INACTIVE",
]);

async function foundOrNothing(
  revisions: FunctionRevisions,
  reference: FunctionReference,
  signal?: AbortSignal,
): Promise<FoundRevision | undefined> {
  try {
    return await findRevision(revisions, reference, signal);
  } catch (error) {
    if (isRunnerError(error) && nothingServes.has(error.code)) return undefined;
    throw error;
  }
}
