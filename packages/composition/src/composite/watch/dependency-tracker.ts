// SPDX-License-Identifier: Apache-2.0

import type { Clock, Log } from "@purlin/base";
import type { ResourceSelector } from "@purlin/function-protocol";
import type { ControllerEngine } from "@purlin/kube-controller";
import { textOf } from "@purlin/kube-objects/errors";
import { type KubeObject, keyText, type ObjectKey, type TypeRef } from "@purlin/kube-objects/object";
import { kinds } from "../../composite-resource/constants.ts";
import type { StepRequirement } from "../run/step-results.ts";
import { type ObjectReference, ReferenceIndex, sameReference } from "./reference-index.ts";

/** What an XR depends on. */
interface Dependencies {
  readonly composed: readonly KubeObject[];
  readonly requirements: readonly StepRequirement[];
  /** The kinds whose schemas its functions read: these change with their CRDs. */
  readonly schemas?: readonly TypeRef[];
}

/** An index of the objects that XRs depend on. In memory only: reconciles fill it. */
export interface DependencyTracker {
  /** Replaces the dependencies of an XR. */
  record(xr: ObjectKey, dependencies: Dependencies): void;
  forget(xr: ObjectKey): void;
  /** The XRs that depend on an object, each once. The cost grows with the result, not with the index. */
  dependents(object: KubeObject): Iterable<ObjectKey>;
  /** Resources a step of an XR asked for last time, by the name it gave them. */
  seeds(xr: ObjectKey, step: string): ReadonlyMap<string, ResourceSelector>;
  /** The kinds an XR depends on. */
  typesOf(xr: ObjectKey): readonly TypeRef[];
  /** Whether some XR depends on a kind. */
  isNeeded(type: TypeRef): boolean;
}

interface Entry {
  readonly references: readonly ObjectReference[];
  readonly types: readonly TypeRef[];
  /** By step, and then by the name that the step gave them. */
  readonly seeds: ReadonlyMap<string, ReadonlyMap<string, ResourceSelector>>;
}

const noSeeds: ReadonlyMap<string, ResourceSelector> = new Map();

/** A tracker for the XRs of one controller. `onUnneeded` is called when no XR depends on a kind. */
export function createDependencyTracker(onUnneeded: (type: TypeRef) => void = () => {}): DependencyTracker {
  const entries = new Map<string, Entry>();
  const index = new ReferenceIndex();

  function drop(key: string): readonly ObjectReference[] {
    const entry = entries.get(key);
    for (const reference of entry?.references ?? []) index.remove(key, reference);
    entries.delete(key);
    return entry?.references ?? [];
  }

  function reportUnneeded(references: readonly ObjectReference[]): void {
    for (const type of typesIn(references)) if (!index.has(type)) onUnneeded(type);
  }

  return {
    record(xr, { composed, requirements, schemas = [] }) {
      const key = keyText(xr);
      const references = [
        ...composed.map(referenceTo),
        ...requirements.map(({ selector }) => selectionOf(selector)),
        ...schemas.map(definitionOf),
      ];
      const known = entries.get(key);
      // Most reconciles find the same dependencies as the last one.
      if (known !== undefined && isSame(known.references, references)) {
        entries.set(key, { ...known, seeds: seedsOf(requirements) });
        return;
      }
      const before = drop(key);
      for (const reference of references) index.add(key, xr, reference);
      entries.set(key, { references, types: typesIn(references), seeds: seedsOf(requirements) });
      reportUnneeded(before);
    },
    forget: (xr) => reportUnneeded(drop(keyText(xr))),
    dependents: (object) => index.find(object),
    seeds(xr, step) {
      return entries.get(keyText(xr))?.seeds.get(step) ?? noSeeds;
    },
    typesOf: (xr) => entries.get(keyText(xr))?.types ?? [],
    isNeeded: (type) => index.has(type),
  };
}

function isSame(a: readonly ObjectReference[], b: readonly ObjectReference[]): boolean {
  return a.length === b.length && a.every((one, index) => sameReference(one, b[index] as ObjectReference));
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
