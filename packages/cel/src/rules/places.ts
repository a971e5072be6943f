// SPDX-License-Identifier: Apache-2.0
import { isRawObject } from "../schema/raw-json.ts";
import { Correlation } from "./correlation.ts";
import { createMapList } from "./map-list.ts";
import { childPath, keyPath } from "./path.ts";
import type { RuleSet } from "./rule-set.ts";

/** A value of an object that has rules. */
export interface Place {
  readonly rules: RuleSet;
  readonly path: string;
  readonly value: unknown;
  /** What the value was before, where the two can be matched. */
  readonly oldValue: unknown;
  readonly ancestry: Ancestry;
}

/** The comparison with the old value of a place, and with that of the nearest place above it that has one. */
export interface Ancestry {
  readonly current: Correlation | undefined;
  readonly nearest: Correlation | undefined;
}

interface Start {
  readonly path: string;
  readonly value: unknown;
  readonly oldValue: unknown;
}

/** All values that have rules, in the order in which the rules are run. */
export function collectPlaces(rules: RuleSet, { path, value, oldValue }: Start): Place[] {
  const places: Place[] = [];
  const hasOld = oldValue !== undefined && oldValue !== null;
  const current = hasOld ? new Correlation(value, oldValue, rules.schema) : undefined;
  visit({ rules, path, value, oldValue, ancestry: { current, nearest: undefined } }, places);
  return places;
}

function visit(place: Place, places: Place[]): void {
  const { value } = place;
  if (value === null || value === undefined) return;
  if (place.rules.ruleCount > 0) places.push(place);
  for (const rules of place.rules.allOf) {
    // What a part of allOf finds is never forgiven at its own place.
    visit({ ...place, rules, ancestry: { current: undefined, nearest: place.ancestry.nearest } }, places);
  }
  if (Array.isArray(value)) visitElements(place, value, places);
  else if (isRawObject(value)) visitEntries(place, value, places);
}

function visitElements(
  { rules, path, oldValue, ancestry }: Place,
  elements: readonly unknown[],
  places: Place[],
): void {
  const { items } = rules;
  if (!items) return;
  const findOld = createMapList(rules.schema, Array.isArray(oldValue) ? oldValue : undefined);
  for (const [index, value] of elements.entries()) {
    const element = {
      rules: items,
      path: keyPath(path, index),
      value,
      oldValue: findOld(value),
      ancestry: below(ancestry, (current) => current.index(index)),
    };
    visit(element, places);
  }
}

function visitEntries(
  { rules, path, oldValue, ancestry }: Place,
  entries: Readonly<Record<string, unknown>>,
  places: Place[],
): void {
  const old = isRawObject(oldValue) ? oldValue : {};
  for (const [name, value] of Object.entries(entries)) {
    for (const child of [rules.values, rules.properties.get(name)]) {
      if (!child) continue;
      const entry = {
        rules: child,
        path: child === rules.values ? keyPath(path, name) : childPath(path, name),
        value,
        oldValue: Object.hasOwn(old, name) ? old[name] : undefined,
        ancestry: entryAncestry(ancestry, name),
      };
      visit(entry, places);
    }
  }
}

function below({ current, nearest }: Ancestry, step: (current: Correlation) => Correlation | undefined): Ancestry {
  return current ? { current: step(current), nearest: current } : { current, nearest };
}

/** Old and new object always have the same apiVersion and kind, so these two say nothing. */
function entryAncestry(ancestry: Ancestry, name: string): Ancestry {
  const isTypeMeta = !ancestry.nearest && (name === "apiVersion" || name === "kind");
  if (ancestry.current && isTypeMeta) return { current: undefined, nearest: undefined };
  return below(ancestry, (current) => current.key(name));
}

/** Whether an update left the value of a place as it was. */
export function isUnchanged({ ancestry: { current, nearest } }: Place): boolean {
  return (current ?? nearest)?.isUnchanged ?? false;
}
