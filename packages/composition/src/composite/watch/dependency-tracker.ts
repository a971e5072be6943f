// SPDX-License-Identifier: Apache-2.0

import { type Clock, finish, isPartDone, type Log, type Work } from "@purlin/base";
import type { ResourceSelector } from "@purlin/function-protocol";
import type { ControllerEngine } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import { type KubeObject, keyText, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { kinds } from "../../composite-resource/constants.ts";
import type { StepRequirement } from "../run/step-results.ts";
import {
  type ObjectReference,
  type PlacedReference,
  placed,
  ReferenceIndex,
  sameReference,
} from "./reference-index.ts";

/** What an XR depends on. */
interface Dependencies {
  readonly composed: readonly KubeObject[];
  readonly requirements: readonly StepRequirement[];
  /** The kinds whose schemas its functions read: these change with their CRDs. */
  readonly schemas?: readonly TypeRef[];
}

/** An index of the objects that XRs depend on. In memory only: reconciles fill it. */
export interface DependencyTracker {
  /** Replaces the dependencies of an XR, in parts. It has those before until it has the new ones. */
  record(xr: ObjectKey, dependencies: Dependencies): Work<void>;
  forget(xr: ObjectKey): void;
  /** The XRs that depend on an object now, each once. The cost grows with the result, and with selectors that are almost met. */
  dependents(object: KubeObject): Iterable<ObjectKey>;
  /** The same in parts, where very many labels are compared. */
  findDependents(object: KubeObject): Generator<undefined, Iterable<ObjectKey>, void>;
  /** Resources a step of an XR asked for last time, by the name it gave them. */
  seeds(xr: ObjectKey, step: string): ReadonlyMap<string, ResourceSelector>;
  /** The kinds an XR depends on. */
  typesOf(xr: ObjectKey): readonly TypeRef[];
  /** Whether some XR depends on a kind. */
  isNeeded(type: TypeRef): boolean;
}

interface Entry {
  readonly references: readonly PlacedReference[];
  readonly types: readonly TypeRef[];
  /** By step, and then by the name that the step gave them. */
  readonly seeds: ReadonlyMap<string, ReadonlyMap<string, ResourceSelector>>;
}

const noSeeds: ReadonlyMap<string, ResourceSelector> = new Map();

/** A tracker for the XRs of one controller. `onUnneeded` is called when no XR depends on a kind. */
export function createDependencyTracker(onUnneeded: (type: TypeRef) => void = () => {}): DependencyTracker {
  const entries = new Map<string, Entry>();
  const index = new ReferenceIndex();

  function reportUnneeded(types: readonly TypeRef[]): void {
    for (const type of types) if (!index.has(type)) onUnneeded(type);
  }

  return {
    *record(xr, dependencies) {
      const key = keyText(xr);
      const seeds = seedsOf(dependencies.requirements);
      const references = withFewSelectors(referencesOf(dependencies));
      const before = entries.get(key);
      // Most reconciles find the same dependencies as the last one.
      if (before !== undefined && (yield* isSame(before.references, references))) {
        entries.set(key, { ...before, seeds });
        return;
      }
      const places: PlacedReference[] = [];
      for (const reference of references) {
        if (isPartDone() || isLarge(reference)) yield;
        const place = placed(reference);
        index.add(key, xr, place);
        places.push(place);
      }
      entries.set(key, { references: places, types: typesIn(references), seeds });
      for (const place of before?.references ?? []) {
        if (isPartDone()) yield;
        index.remove(key, place);
      }
      reportUnneeded(before?.types ?? []);
    },
    forget(xr) {
      const key = keyText(xr);
      const before = entries.get(key);
      for (const place of before?.references ?? []) index.remove(key, place);
      entries.delete(key);
      reportUnneeded(before?.types ?? []);
    },
    dependents: (object) => finish<Iterable<ObjectKey>>(index.find(object)),
    findDependents: (object) => index.find(object),
    seeds(xr, step) {
      return entries.get(keyText(xr))?.seeds.get(step) ?? noSeeds;
    },
    typesOf: (xr) => entries.get(keyText(xr))?.types ?? [],
    isNeeded: (type) => index.has(type),
  };
}

function* isSame(a: readonly PlacedReference[], b: readonly ObjectReference[]): Work<boolean> {
  if (a.length !== b.length) return false;
  for (const [index, reference] of b.entries()) {
    if (isPartDone() || isLarge(reference)) yield;
    const before = a[index]?.reference;
    if (before === undefined || !sameReference(before, reference)) return false;
  }
  return true;
}

const manyLabels = 32;

/** Whether a reference is a part of the work of its own. */
function isLarge({ match }: ObjectReference): boolean {
  return "labels" in match && match.labels.size > manyLabels;
}

function referencesOf({ composed, requirements, schemas = [] }: Dependencies): readonly ObjectReference[] {
  return [
    ...composed.map(referenceTo),
    ...requirements.map(({ selector }) => selectionOf(selector)),
    ...schemas.map(definitionOf),
  ];
}

/** Labels in selectors of one kind that an XR depends on: each is compared when an object of the kind changes. */
const mostLabels = 10_000;

/** The references, where those to too many labels of one kind are one to all objects of the kind: it wakes the XR more often. */
function withFewSelectors(references: readonly ObjectReference[]): readonly ObjectReference[] {
  const labels = new Map<string, number>();
  for (const { type, match } of references) {
    const name = `${type.apiVersion}/${type.kind}`;
    if ("labels" in match) labels.set(name, (labels.get(name) ?? 0) + match.labels.size);
  }
  const many = new Set([...labels].filter(([, count]) => count > mostLabels).map(([name]) => name));
  if (many.size === 0) return references;
  const isKept = ({ type, match }: ObjectReference): boolean =>
    !("labels" in match && many.has(`${type.apiVersion}/${type.kind}`));
  const left = references.filter((one) => !isKept(one));
  const all = typesIn(left).map((type): ObjectReference => ({ type, namespace: "", match: { labels: new Map() } }));
  return [...references.filter(isKept), ...all];
}

function seedsOf(requirements: readonly StepRequirement[]): Entry["seeds"] {
  const seeds = new Map<string, Map<string, ResourceSelector>>();
  for (const { step, name, selector } of requirements) {
    const known = seeds.get(step);
    if (known === undefined) seeds.set(step, new Map([[name, selector]]));
    else known.set(name, selector);
  }
  return seeds;
}

/** Each once. */
function typesIn(references: readonly ObjectReference[]): readonly TypeRef[] {
  return [...new Map(references.map(({ type }) => [`${type.apiVersion}/${type.kind}`, type])).values()];
}

function referenceTo({ apiVersion, kind, metadata }: KubeObject): ObjectReference {
  const { name = "", namespace = "" } = metadata;
  return { type: { apiVersion, kind }, namespace, match: { name } };
}

function selectionOf({ apiVersion, kind, namespace = "", match }: ResourceSelector): ObjectReference {
  const type = { apiVersion, kind };
  if (match?.case === "matchName") return { type, namespace, match: { name: match.value } };
  const labels = match?.case === "matchLabels" ? match.value.labels : new Map<string, string>();
  return { type, namespace, match: { labels } };
}

function definitionOf({ apiVersion, kind }: TypeRef): ObjectReference {
  return { type: kinds.crd, namespace: "", match: { defines: `${apiVersion}/${kind}` } };
}

/** Ends watches on kinds that no XR depends on. */
export interface WatchCollection {
  /** A kind lost its last dependent: collects after a while, as another may come. */
  schedule(): void;
  collect(): Promise<void>;
  close(): void;
}

/** The dependencies of a collection. */
interface WatchCollectionOptions {
  readonly controller: string;
  readonly engine: Pick<ControllerEngine, "stopWatches" | "watchesOf">;
  readonly tracker: () => Pick<DependencyTracker, "isNeeded">;
  readonly clock: Clock;
  readonly log: Log;
}

const delayMs = 60_000;

/** Runs only when a watch may have become unneeded, so that an idle control plane does nothing. */
export function createWatchCollection(options: WatchCollectionOptions): WatchCollection {
  const { controller, engine, tracker, clock, log } = options;
  let cancel: (() => void) | undefined;
  let closed = false;

  async function collect(): Promise<void> {
    const unneeded = engine
      .watchesOf(controller)
      .filter(({ type, object }) => type === dependencyWatch && !tracker().isNeeded(object));
    if (unneeded.length > 0) await engine.stopWatches(controller, unneeded);
  }

  function run(): void {
    cancel = undefined;
    collect().catch((error: unknown) => {
      log.info("cannot stop unneeded watches", { controller, error: textOf(error) });
    });
  }

  return {
    collect,
    schedule() {
      if (!closed) cancel ??= clock.schedule(delayMs, run);
    },
    close() {
      closed = true;
      cancel?.();
    },
  };
}

// The watches of a composite controller by purpose, as metrics name them.

/** On the kind of the XRs themselves. */
export const compositeWatch = "CompositeResource";
/** On revisions of Compositions. */
export const revisionWatch = "CompositionRevision";
/** On everything XRs composed or required. */
export const dependencyWatch = "Dependency";
