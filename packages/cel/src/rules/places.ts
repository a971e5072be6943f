// SPDX-License-Identifier: Apache-2.0

import { childPath, keyPath } from "@purlin/kube-objects/errors";
import type { Schema } from "@purlin/kube-objects/schema";
import { isRawObject, isSameJson } from "../schema/raw-json.ts";
import { valueSchema } from "../schema/schema-node.ts";
import type { RuleSet } from "./rule-set.ts";

/** Finds the element with the same key as another; undefined without such an element. */
type MapList = (element: unknown) => unknown;

const isScalar = (value: unknown): boolean => ["string", "number", "bigint", "boolean"].includes(typeof value);

/** A value of an object and the value it had before, at the same place of the schema. */
class Correlation {
  readonly #value: unknown;
  readonly #oldValue: unknown;
  readonly #schema: Schema;
  readonly #children: Map<string | number, Correlation> = new Map();
  #mapList: MapList | undefined;
  #isUnchanged: boolean | undefined;

  constructor(value: unknown, oldValue: unknown, schema: Schema) {
    this.#value = value;
    this.#oldValue = oldValue;
    this.#schema = schema;
  }

  /** Whether the value is what it was, elements of lists of type map in any order. */
  get isUnchanged(): boolean {
    this.#isUnchanged ??= this.#compare();
    return this.#isUnchanged;
  }

  /** The same for a field or map entry that is there now and was there before. */
  key(name: string): Correlation | undefined {
    const known = this.#children.get(name);
    if (known) return known;
    const { properties = {} } = this.#schema;
    const schema = Object.hasOwn(properties, name) ? properties[name] : valueSchema(this.#schema);
    if (!schema || !hasEntry(this.#value, name) || !hasEntry(this.#oldValue, name)) return undefined;
    return this.#remember(name, new Correlation(this.#value[name], this.#oldValue[name], schema));
  }

  /** The same for an element of a list of type map. Elements of other lists have no old value. */
  index(index: number): Correlation | undefined {
    const known = this.#children.get(index);
    if (known) return known;
    if (!Array.isArray(this.#value) || !Array.isArray(this.#oldValue) || !this.#schema.items) return undefined;
    if (this.#schema["x-kubernetes-list-type"] !== "map") return undefined;
    this.#mapList ??= createMapList(this.#schema, this.#oldValue);
    const element: unknown = this.#value[index];
    const old = this.#mapList(element);
    if (old === undefined || old === null) return undefined;
    return this.#remember(index, new Correlation(element, old, this.#schema.items));
  }

  #remember(key: string | number, child: Correlation): Correlation {
    this.#children.set(key, child);
    return child;
  }

  #compare(): boolean {
    const value = this.#value;
    const old = this.#oldValue;
    if (value === null || old === null || value === undefined || old === undefined) return value === old;
    if (Array.isArray(value) && Array.isArray(old)) return this.#compareLists(value, old);
    if (!isRawObject(value) || !isRawObject(old)) return isSameJson(value, old);
    const names = Object.keys(value);
    if (names.length !== Object.keys(old).length) return false;
    return names.every((name) => this.key(name)?.isUnchanged ?? false);
  }

  #compareLists(value: readonly unknown[], old: readonly unknown[]): boolean {
    if (value.length !== old.length) return false;
    if (this.#schema["x-kubernetes-list-type"] !== "map") return isSameJson(value, old);
    return value.every((_, index) => this.index(index)?.isUnchanged ?? false);
  }
}

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
interface Ancestry {
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

/** Old and new object always have the same apiVersion and kind, so these two are not compared. */
function entryAncestry(ancestry: Ancestry, name: string): Ancestry {
  const isTypeMeta = !ancestry.nearest && (name === "apiVersion" || name === "kind");
  if (ancestry.current && isTypeMeta) return { current: undefined, nearest: undefined };
  return below(ancestry, (current) => current.key(name));
}

/** Whether an update left the value of a place as it was. */
export function isUnchanged({ ancestry: { current, nearest } }: Place): boolean {
  return (current ?? nearest)?.isUnchanged ?? false;
}

function hasEntry(value: unknown, name: string): value is Readonly<Record<string, unknown>> {
  return isRawObject(value) && Object.hasOwn(value, name);
}

/** The elements of a list by the key its schema names. Lists of other types have no keys, so nothing is found in them. */
function createMapList(schema: Schema, elements: readonly unknown[] | undefined): MapList {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (schema["x-kubernetes-list-type"] !== "map" || keys.length === 0 || !elements) return () => undefined;
  const byKey = new Map<string, unknown>();
  for (const element of elements) {
    const key = keyOf(element, keys);
    // Of elements with the same key the first one counts.
    if (key !== undefined && !byKey.has(key)) byKey.set(key, element);
  }
  return (element) => {
    const key = keyOf(element, keys);
    return key === undefined ? undefined : byKey.get(key);
  };
}

function keyOf(element: unknown, keys: readonly string[]): string | undefined {
  if (!isRawObject(element)) return undefined;
  const parts: string[] = [];
  for (const key of keys) {
    const value = element[key];
    if (!Object.hasOwn(element, key) || !isScalar(value)) return undefined;
    parts.push(typeof value === "string" ? `"${value}` : String(value));
  }
  return parts.join("\0");
}
