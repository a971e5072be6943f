// SPDX-License-Identifier: Apache-2.0
// Which objects workloads select. Selectors and labels may be as long as a request, and there may be many of both.
import { inTurns, type Work } from "@purlin/base";
import { type KubeObject, keyOf, type ObjectKey, optionalObjectAt } from "@purlin/kube-objects/object";
import {
  type IndexedSelector,
  indexSelector,
  type LabelSelectorObject,
  matchesIndexed,
} from "@purlin/kube-objects/selector";
import { kinds } from "../kinds.ts";

// A selector is indexed when it is first compared: an informer keeps the object until it changes.
const indexes = new WeakMap<KubeObject, IndexedSelector>();

/** The selector of Pods that an object has; undefined when it has none. */
export function selectorOf(object: KubeObject): LabelSelectorObject | undefined {
  switch (object.kind) {
    case kinds.replicationController.kind:
      return { matchLabels: mapAt(object) ?? {} };
    case kinds.service.kind: {
      const matchLabels = mapAt(object) ?? {};
      return Object.keys(matchLabels).length === 0 ? undefined : { matchLabels };
    }
    case kinds.simulation.kind:
      return optionalObjectAt(object, ["spec", "match", "podSelector"]);
    default:
      return optionalObjectAt(object, ["spec", "selector"]);
  }
}

const mapAt = (object: KubeObject) =>
  optionalObjectAt(object, ["spec", "selector"]) as Readonly<Record<string, string>> | undefined;

/** Whether an object selects another one by its labels. One without a selector selects nothing. */
export function selects(object: KubeObject, { metadata }: KubeObject): boolean {
  const index = indexes.get(object) ?? newIndex(object);
  return index !== undefined && matchesIndexed(index, metadata.labels ?? {});
}

function newIndex(object: KubeObject): IndexedSelector | undefined {
  const selector = selectorOf(object);
  if (selector === undefined) return undefined;
  const index = indexSelector(selector);
  indexes.set(object, index);
  return index;
}

/** The keys of those that select one of the objects, as {@link WatchSpec.keys} yields them. */
export function* selecting(
  workloads: readonly KubeObject[],
  objects: readonly KubeObject[],
): Generator<ObjectKey | undefined> {
  for (const workload of workloads) {
    if (objects.some((object) => selects(workload, object))) yield keyOf(workload);
    // Whether it selects one or not, it may have taken long.
    yield undefined;
  }
}

/** The items that pass a test, in parts. */
export function filterInTurns<T>(items: readonly T[], test: (item: T) => boolean): Promise<T[]> {
  return inTurns(filtering(items, test));
}

function* filtering<T>(items: readonly T[], test: (item: T) => boolean): Work<T[]> {
  const passed: T[] = [];
  for (const item of items) {
    if (test(item)) passed.push(item);
    yield;
  }
  return passed;
}
