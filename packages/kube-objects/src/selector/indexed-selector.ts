// SPDX-License-Identifier: Apache-2.0
// Selectors that are compared with many objects: a selector, and the labels of an object, may be as long as a request.
import { finish } from "@purlin/base";
import type { LabelRequirement } from "./label-requirement.ts";
import { type LabelSelectorObject, readingLabelSelector } from "./label-selector-object.ts";

/** A selector that is compared with many objects. */
export interface IndexedSelector {
  /** The labels that must be there, and their keys: of objects with very many members, it takes long to list these. */
  readonly matchLabels: Readonly<Record<string, string>>;
  readonly keys: readonly string[];
  /** The other requirements by their keys. */
  readonly byKey: ReadonlyMap<string, readonly IndexedRequirement[]>;
  /** How many of these keys a label must have. */
  readonly needed: number;
}

interface IndexedRequirement {
  /** Whether the label must be there. */
  readonly isNeeded: boolean;
  /** The values that it must or must not have; any unless given. */
  readonly values: ReadonlySet<string> | undefined;
}

/** Indexes a valid selector, for {@link matchesIndexed}. */
export function indexSelector({ matchLabels, matchExpressions }: LabelSelectorObject): IndexedSelector {
  const byKey = new Map<string, IndexedRequirement[]>();
  for (const requirement of finish(readingLabelSelector({ matchExpressions: matchExpressions ?? [] }))) {
    const known = byKey.get(requirement.key);
    if (known === undefined) byKey.set(requirement.key, [indexed(requirement)]);
    else known.push(indexed(requirement));
  }
  let needed = 0;
  for (const requirements of byKey.values()) if (requirements.some(({ isNeeded }) => isNeeded)) needed++;
  return { matchLabels: matchLabels ?? {}, keys: Object.keys(matchLabels ?? {}), byKey, needed };
}

function indexed({ operator, values }: LabelRequirement): IndexedRequirement {
  const isNeeded = operator !== "!" && operator !== "notin";
  return { isNeeded, values: operator === "!" || operator === "exists" ? undefined : new Set(values) };
}

/** Up to this number, keys are looked up among the labels of an object. With more, these are listed, which takes long where there are very many. */
const fewKeys = 64;

/** Whether labels meet a selector. Takes time in proportion to the labels, or to the selector when that is short. */
export function matchesIndexed(selector: IndexedSelector, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels, keys } = selector;
  // The first label that is not there ends this, so that it looks at no more keys than there are labels.
  for (const key of keys) if (labels[key] !== (matchLabels[key] ?? "")) return false;
  return meetsExpressions(selector, labels);
}

function meetsExpressions({ byKey, needed }: IndexedSelector, labels: Readonly<Record<string, string>>): boolean {
  let found = 0;
  const meets = (key: string, requirements: readonly IndexedRequirement[]): boolean => {
    if (!Object.hasOwn(labels, key)) return true;
    if (!requirements.every((one) => meetsOne(one, labels[key] ?? ""))) return false;
    if (requirements.some(({ isNeeded }) => isNeeded)) found++;
    return true;
  };
  const present = byKey.size <= fewKeys ? undefined : Object.keys(labels);
  if (present === undefined || present.length >= byKey.size) {
    for (const [key, requirements] of byKey) if (!meets(key, requirements)) return false;
  } else {
    for (const key of present) {
      const requirements = byKey.get(key);
      if (requirements !== undefined && !meets(key, requirements)) return false;
    }
  }
  return found === needed;
}

function meetsOne({ isNeeded, values }: IndexedRequirement, value: string): boolean {
  return values === undefined ? isNeeded : values.has(value) === isNeeded;
}
