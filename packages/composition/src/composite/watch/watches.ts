// SPDX-License-Identifier: Apache-2.0

import { forEachLimited, inTurns, isPartDone } from "@purlin/base";
import { create, ResourceSelector } from "@purlin/function-protocol";
import { type CacheChange, isNoMatch } from "@purlin/kube-client/objects";
import type { WatchSpec } from "@purlin/kube-controller";
import {
  annotationOf,
  isDeleted,
  type KubeObject,
  keyOf,
  keyText,
  labelOf,
  type ObjectKey,
  type TypeRef,
  textAt,
} from "@purlin/kube-objects/object";
import { annotations, kinds, labels } from "../../composite-resource/constants.ts";
import { type CompositeState, controllerName } from "../composite-state.ts";
import type { CompositeContext, CompositeKind } from "../context.ts";
import type { PipelineOutcome, StepRequirement } from "../run/step-results.ts";
import { compositeWatch, dependencyWatch, revisionWatch } from "./dependency-tracker.ts";

/** The watches every composite controller has: on its XRs, and on revisions of Compositions. */
export function baseWatches(kind: CompositeKind, state: CompositeState): readonly WatchSpec[] {
  return [
    { type: compositeWatch, object: kind.type, keys: (change) => keysOfComposite(change, state) },
    { type: revisionWatch, object: kinds.revision, keys: (change) => keysOfRevision(change, kind, state) },
  ];
}

/** A watch on a kind some XRs depend on. */
export function watchOn(type: TypeRef, { breaker, tracker, settling, causes }: CompositeState): WatchSpec {
  function* keys(change: CacheChange): Generator<ObjectKey | undefined> {
    const targets = new Map<string, { key: ObjectKey; sides: 1 | 2 }>();
    for (const object of sidesOf(change)) {
      for (const key of yield* tracker.findDependents(object)) {
        const known = targets.get(keyText(key));
        targets.set(keyText(key), { key, sides: known === undefined ? 1 : 2 });
      }
    }
    const settles = type.kind === kinds.crd.kind && isRedefined(change);
    for (const { key, sides } of targets.values()) {
      if (isPartDone()) yield undefined;
      if (!breaker.admit(key, change.object, sides)) continue;
      if (settles) settling.changed(key);
      causes.note(key, causeOf(change, key));
      yield key;
    }
  }
  return { type: dependencyWatch, object: type, keys };
}

/** Kinds that are looked up at once. */
const parallelLookups = 64;

/** Records what an XR depends on, before its resources are applied. */
export async function recordDependencies(
  context: CompositeContext,
  { composed, outcome }: { readonly composed: readonly KubeObject[]; readonly outcome: PipelineOutcome },
): Promise<void> {
  const requirements: StepRequirement[] = [];
  await forEachLimited(outcome.requirements, parallelLookups, async (wanted, index) => {
    requirements[index] = await inScope(wanted, context);
  });
  await inTurns(context.state.tracker.record(context.key, { composed, requirements, schemas: outcome.schemas }));
}

/** A cluster-scoped kind has no namespace, whatever a function asks for. */
async function inScope(wanted: StepRequirement, { deps, signal }: CompositeContext): Promise<StepRequirement> {
  const { selector } = wanted;
  if (!selector.namespace) return wanted;
  try {
    if ((await deps.client.mapper.mapping(selector, signal)).namespaced) return wanted;
  } catch (error) {
    if (isNoMatch(error)) return wanted;
    throw error;
  }
  return { ...wanted, selector: create(ResourceSelector, { ...selector, namespace: undefined }) };
}

/** Starts the watches on the kinds that an XR depends on. A kind of another XR that cannot be watched does not concern this one. */
export async function startDependencyWatches({ key, deps, state, signal }: CompositeContext): Promise<void> {
  const watches = state.tracker.typesOf(key).map((type) => {
    const name = `${type.apiVersion}/${type.kind}`;
    const known = state.dependencyWatches.get(name) ?? watchOn(type, state);
    state.dependencyWatches.set(name, known);
    return known;
  });
  await deps.engine.startWatches(controllerName(deps.kind.definition), watches, signal);
}

/** Whether the spec of a definition has changed. */
function isRedefined(change: CacheChange): boolean {
  return change.type !== "updated" || change.object.metadata.generation !== change.previous.metadata.generation;
}

function keysOfComposite(change: CacheChange, { breaker, users, selfUpdates, causes }: CompositeState): ObjectKey[] {
  users.note(change);
  const { object } = change;
  const key = keyOf(object);
  // A deleted XR may be created again under the same name, and starts with a closed circuit.
  if (change.type === "deleted" || isDeleted(object)) {
    breaker.forget(key);
    causes.note(key, "deletion");
    return [key];
  }
  if (!selfUpdates.isNews(change) || !admitted(change, { breaker })) return [];
  causes.note(key, ownCauseOf(change));
  return [key];
}

/** Whether the circuit breaker admits a change of an XR. */
export function admitted({ type, object }: CacheChange, { breaker }: Pick<CompositeState, "breaker">): boolean {
  return breaker.admit(keyOf(object), object, type === "updated" ? 2 : 1);
}

/** Why a change of an object starts a reconcile of an XR. */
export function causeOf(change: CacheChange, xr: ObjectKey): string {
  const { kind, metadata } = change.object;
  if (metadata.name === xr.name && metadata.namespace === xr.namespace && change.type === "updated") {
    return ownCauseOf(change);
  }
  return `watch ${kind}/${metadata.name ?? ""}`;
}

/** Why a change of an XR starts its reconcile. */
function ownCauseOf(change: CacheChange): string {
  const { object } = change;
  if (change.type !== "updated") return (object.metadata.finalizers ?? []).length > 0 ? "start" : "created";
  const { previous } = change;
  if (previous === object) return "resync";
  if (previous.metadata.generation !== object.metadata.generation) return "spec";
  const requested = (one: KubeObject): string | undefined => annotationOf(one, annotations.reconcileRequested);
  if (requested(previous) !== requested(object)) return "request";
  return `watch ${object.kind}/${object.metadata.name ?? ""}`;
}

function* keysOfRevision(
  change: CacheChange,
  { type }: CompositeKind,
  { breaker, users, causes }: CompositeState,
): Generator<ObjectKey | undefined> {
  const { object } = change;
  const path = ["spec", "compositeTypeRef"];
  const isOurs = textAt(object, [...path, "kind"]) === type.kind;
  if (!isOurs || textAt(object, [...path, "apiVersion"]) !== type.apiVersion) return;
  const sides = change.type === "updated" ? 2 : 1;
  const composition = labelOf(object, labels.compositionName) ?? "";
  for (const key of [...users.of(composition)]) {
    if (isPartDone()) yield undefined;
    if (!breaker.admit(key, object, sides)) continue;
    causes.note(key, causeOf(change, key));
    yield key;
  }
}

/** An update also concerns the XRs that depended on the object before it. */
function sidesOf(change: CacheChange): readonly KubeObject[] {
  return change.type === "updated" ? [change.previous, change.object] : [change.object];
}
