// SPDX-License-Identifier: Apache-2.0

import { attempt, ReconcileError, type StepText } from "@purlin/kube-controller";
import { isConflict, wrapError } from "@purlin/kube-objects/errors";
import {
  conditionOf,
  conditionsOf,
  type KubeObject,
  labelOf,
  objectAt,
  type TypeRef,
  textAt,
  withFinalizer,
  withMember,
} from "@purlin/kube-objects/object";
import { fieldManagers, finalizers, labels } from "../../composite-resource/constants.ts";
import { connectionSecretRefOf, withCrossplaneFields } from "../../composite-resource/crossplane-fields.ts";
import { type CompositeContext, type CompositeKind, steps } from "../context.ts";
import {
  isFor,
  kindText,
  type Selection,
  selectComposition,
  selected,
  selectRevision,
  selectRevisionSelector,
  startSelection,
} from "./select-revision.ts";

/** The XR after a step of the preparation. */
interface Preparation {
  readonly selection: Selection;
  readonly revision?: KubeObject;
  /** Whether the pipeline of the revision has not been checked yet, and will be soon. */
  readonly isAwaitingVerdict?: boolean;
}

type PreparationStep = (before: Preparation) => Promise<Preparation> | Preparation;

/**
 * Selects the revision that composes the XR and marks the XR as ours: finalizer, Composition, revision, label and Secret. All changes
 * are stored with one update before any resource is created; the next reconcile stores what a failing step left undone. Resolves to
 * the revision, or to undefined when its pipeline has not been checked yet: then the selection is stored, and nothing is composed.
 */
export async function prepare(context: CompositeContext): Promise<KubeObject | undefined> {
  let current: Preparation = { selection: startSelection(context.stored.object) };
  try {
    for (const step of preparationSteps(context)) current = await step(current);
  } catch (error) {
    // The steps before it succeeded, and their decisions stay, above all a random choice.
    await store(current.selection, context).catch(rethrowConflict);
    throw error;
  }
  await store(current.selection, context);
  return current.isAwaitingVerdict ? undefined : current.revision;
}

function preparationSteps(context: CompositeContext): readonly PreparationStep[] {
  const { deps, definition } = context;
  const change = (step: StepText, action: (before: Selection) => Promise<Selection> | Selection): PreparationStep => {
    return async (before) => ({ ...before, selection: await attempt(step, () => action(before.selection)) });
  };
  return [
    change(steps.finalizer, (before) =>
      selected(before, steps.finalizer, { xr: withFinalizer(before.xr, finalizers.composite) }),
    ),
    change(steps.composition, (before) => selectComposition(before, context)),
    change(steps.revisionSelector, (before) => selectRevisionSelector(before, definition.require(), deps)),
    ({ selection }) => attempt(steps.revision, () => selectRevision(selection, context)),
    ({ selection, revision }) => ({ selection, ...checked(revision, context) }),
    ({ selection, revision, ...rest }) =>
      attempt(steps.configure, () => ({
        ...rest,
        selection: revision === undefined ? selection : configure(selection, revision, deps.kind),
        ...(revision && { revision }),
      })),
  ];
}

/** The error about an invalid pipeline has no prefix. */
function checked(revision: KubeObject | undefined, { key, state }: CompositeContext): Omit<Preparation, "selection"> {
  if (revision === undefined) throw new Error("no revision was selected");
  if (state.verdicts.isAwaited(key, revision)) return { revision, isAwaitingVerdict: true };
  try {
    requireValidPipeline(revision);
    return { revision };
  } catch (error) {
    throw ReconcileError.from("ComposeResources", error);
  }
}

/** Stores the selection, if it changed the XR, and emits its events. */
async function store({ xr, events, changedBy }: Selection, context: CompositeContext): Promise<void> {
  const { state, stored, emit } = context;
  if (changedBy !== undefined) {
    stored.object = await update(xr, changedBy, context);
    // The update names the version it was made of, so it holds nothing that this reconcile does not know.
    state.selfUpdates.expect(stored.object);
  }
  for (const event of events) emit(event);
}

async function update(xr: KubeObject, changedBy: StepText, { deps, signal }: CompositeContext): Promise<KubeObject> {
  return attempt(changedBy, async () => {
    try {
      return await deps.client.update(xr, { fieldManager: fieldManagers.update, signal });
    } catch (error) {
      throw changedBy === steps.finalizer ? error : wrapError("cannot update composite resource", error);
    }
  });
}

function rethrowConflict(error: unknown): void {
  if (isConflict(error)) throw error;
}

/** Throws unless the revision's pipeline was found to be valid. */
function requireValidPipeline(revision: KubeObject): void {
  const { status, message } = conditionOf(conditionsOf(revision), "ValidPipeline");
  if (status === "True") return;
  const name = revision.metadata.name ?? "";
  const why = message || "pipeline status unknown";
  throw new Error(`selected CompositionRevision ${name} does not have a valid function pipeline: ${why}`);
}

/**
 * Prepares the XR for its revision: the label its tree shares, and for legacy XRs the place of its connection secret.
 * Throws when the revision is made for another kind.
 */
function configure(before: Selection, revision: KubeObject, kind: CompositeKind): Selection {
  const named = withTreeLabel(before.xr);
  if (!isFor(revision, before.xr)) {
    throw new Error(
      `referenced composition is not compatible with this composite resource: ${mismatch(before.xr, revision)}`,
    );
  }
  return selected(before, steps.configure, { xr: withSecretRef(named, revision, kind) });
}

function mismatch(xr: KubeObject, revision: KubeObject): string {
  const { apiVersion = "", kind = "" } = objectAt(revision, ["spec", "compositeTypeRef"]) as Partial<TypeRef>;
  const made = `CompositionRevision "${revision.metadata.name ?? ""}" is made for ${kindText({ apiVersion, kind })}`;
  return `${made}, not for ${kindText(xr)}: name another Composition in compositionRef`;
}

/** A nested XR keeps the label of its root, which it got when it was composed. */
function withTreeLabel(xr: KubeObject): KubeObject {
  if (labelOf(xr, labels.composite) !== undefined) return xr;
  return withMember(xr, ["metadata", "labels", labels.composite], xr.metadata.name ?? "");
}

function withSecretRef(xr: KubeObject, revision: KubeObject, { schema }: CompositeKind): KubeObject {
  const namespace = textAt(revision, ["spec", "writeConnectionSecretsToNamespace"]);
  if (schema !== "legacy" || namespace === undefined || connectionSecretRefOf(xr, schema) !== undefined) return xr;
  return withCrossplaneFields(xr, schema, { writeConnectionSecretToRef: { name: xr.metadata.uid ?? "", namespace } });
}
