// SPDX-License-Identifier: Apache-2.0

import { attempt, ReconcileFailure, type StepText } from "@purlin/kube-controller";
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
import { fieldManagers, finalizers, labels } from "../composite-resource/constants.ts";
import { kindText } from "../composite-resource/described.ts";
import { connectionSecretRefOf, withMachinery } from "../composite-resource/machinery.ts";
import type { Pass } from "./pass.ts";
import type { CompositeKind } from "./ports.ts";
import type { DefinitionFacts } from "./select/definition.ts";
import { isFor, selectComposition } from "./select/select-composition.ts";
import { selectRevision, selectRevisionSelector } from "./select/select-revision.ts";
import { type Selection, selected, startSelection } from "./select/selection.ts";
import { steps } from "./steps.ts";

/** An XR that is ready to be composed, and stored so. */
export interface Prepared {
  readonly xr: KubeObject;
  readonly revision: KubeObject;
}

/** Where a step of the preparation takes the XR. */
interface Preparation {
  readonly selection: Selection;
  readonly revision?: KubeObject;
  /** Whether the revision has no verdict on its pipeline yet, and will have one soon. */
  readonly isAwaitingVerdict?: boolean;
}

type PreparationStep = (before: Preparation) => Promise<Preparation> | Preparation;

/**
 * Decides what the XR is composed by and marks it as ours: finalizer, Composition, revision, label and Secret. All that
 * changes is stored with one update before anything is made; what a failing step left undone is stored by the next pass.
 * Undefined when the pipeline of the revision has not been checked yet: what was decided is stored, and nothing is composed.
 */
export async function prepare(
  xr: KubeObject,
  definition: () => Promise<DefinitionFacts>,
  pass: Pass,
  onStored: (xr: KubeObject) => void,
): Promise<Prepared | undefined> {
  let current: Preparation = { selection: startSelection(xr) };
  try {
    for (const step of preparationSteps(definition, pass)) current = await step(current);
  } catch (error) {
    // The steps before it succeeded, and what they decided stays, a random choice above all.
    await store(current.selection, pass).then(onStored, rethrowConflict);
    throw error;
  }
  const stored = await store(current.selection, pass);
  onStored(stored);
  if (current.isAwaitingVerdict) return undefined;
  return { xr: stored, revision: current.revision ?? stored };
}

function preparationSteps(definition: () => Promise<DefinitionFacts>, pass: Pass): readonly PreparationStep[] {
  const { ports, signal } = pass;
  const change = (step: StepText, action: (before: Selection) => Promise<Selection> | Selection): PreparationStep => {
    return async (before) => ({ ...before, selection: await attempt(step, () => action(before.selection)) });
  };
  return [
    change(steps.finalizer, (before) =>
      selected(before, steps.finalizer, withFinalizer(before.xr, finalizers.composite)),
    ),
    change(steps.composition, async (before) => selectComposition(before, await definition(), ports, signal)),
    change(steps.revisionSelector, async (before) => selectRevisionSelector(before, await definition(), ports)),
    ({ selection }) => attempt(steps.revision, () => selectRevision(selection, ports, signal)),
    ({ selection, revision }) => ({ selection, ...checked(revision, pass) }),
    ({ selection, revision, ...rest }) =>
      attempt(steps.configure, () => ({
        ...rest,
        selection: revision === undefined ? selection : configure(selection, revision, ports.kind),
        ...(revision && { revision }),
      })),
  ];
}

/** The validity gate has its own words, without a prefix. */
function checked(revision: KubeObject | undefined, { key, state }: Pass): Omit<Preparation, "selection"> {
  if (revision === undefined) throw new Error("no revision was selected");
  if (state.verdicts.isAwaited(key, revision)) return { revision, isAwaitingVerdict: true };
  try {
    requireValidPipeline(revision);
    return { revision };
  } catch (error) {
    throw ReconcileFailure.saying("ComposeResources", error);
  }
}

/** Stores what was decided and tells about it. Nothing decided is nothing to store. */
async function store({ xr, events, changedBy }: Selection, { ports, state, signal }: Pass): Promise<KubeObject> {
  const stored = changedBy === undefined ? xr : await update(xr, changedBy, ports.client, signal);
  // The update names the version it was made of, so there is nothing in it that we do not know.
  if (changedBy !== undefined) state.echoes.expect(stored);
  for (const event of events) ports.events.event(stored, event);
  return stored;
}

async function update(
  xr: KubeObject,
  changedBy: StepText,
  client: Pass["ports"]["client"],
  signal: AbortSignal,
): Promise<KubeObject> {
  return attempt(changedBy, async () => {
    try {
      return await client.update(xr, { fieldManager: fieldManagers.update, signal });
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
  return selected(before, steps.configure, withSecretRef(named, revision, kind));
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
  return withMachinery(xr, schema, { writeConnectionSecretToRef: { name: xr.metadata.uid ?? "", namespace } });
}
