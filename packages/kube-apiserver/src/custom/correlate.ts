// SPDX-License-Identifier: Apache-2.0
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  ownValue,
  printJson,
} from "@purlin/kube-objects/json";

type Step = { readonly field: string } | { readonly index: number };

/**
 * Whether the value a finding is about was the same before an update: then the update is not to blame for it. Fields are
 * found again by name, items of a map-like list by their keys; inside other lists the list as a whole decides.
 */
export function isUnchangedAt(
  path: string,
  { now, before, schema }: { readonly now: JsonObject; readonly before: JsonObject; readonly schema: JsonObject },
): boolean {
  const steps = parsePath(path);
  return steps !== undefined && walk(steps, { now, before, schema });
}

interface Place {
  readonly now: JsonValue | undefined;
  readonly before: JsonValue | undefined;
  readonly schema: JsonObject | undefined;
}

function walk(steps: readonly Step[], start: Place): boolean {
  let place = start;
  for (const step of steps) {
    // A key may look like a path of a million steps.
    if (place.now === undefined || place.before === undefined) return false;
    if ("field" in step) {
      place = member(place, step.field);
      continue;
    }
    const listType = place.schema && ownValue(place.schema, "x-kubernetes-list-type");
    if (listType !== "map") return isSame(place);
    place = item(place, step.index);
  }
  return isSame(place);
}

function isSame({ now, before }: Place): boolean {
  if (now === undefined || before === undefined) return false;
  return isJsonArray(now) ? isSameList(now, before) : jsonEqual(now, before);
}

// Every finding inside a list asks about the whole list.
const compared = new WeakMap<readonly JsonValue[], { readonly before: JsonValue; readonly same: boolean }>();

function isSameList(now: readonly JsonValue[], before: JsonValue): boolean {
  const known = compared.get(now);
  if (known !== undefined && known.before === before) return known.same;
  const same = jsonEqual(now, before);
  compared.set(now, { before, same });
  return same;
}

function member({ now, before, schema }: Place, name: string): Place {
  return { now: memberOf(now, name), before: memberOf(before, name), schema: memberSchema(schema, name) };
}

function memberOf(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isJsonObject(value) ? ownValue(value, name) : undefined;
}

function memberSchema(schema: JsonObject | undefined, name: string): JsonObject | undefined {
  const properties = schema && ownValue(schema, "properties");
  const property = isJsonObject(properties) ? ownValue(properties, name) : undefined;
  const found = property ?? (schema && ownValue(schema, "additionalProperties"));
  return isJsonObject(found) ? found : undefined;
}

function item({ now, before, schema }: Place, index: number): Place {
  const items = schema && ownValue(schema, "items");
  const keys = schema && ownValue(schema, "x-kubernetes-list-map-keys");
  const current = isJsonArray(now) ? now[index] : undefined;
  const names = isJsonArray(keys) ? keys.map(String) : [];
  const earlier =
    isJsonArray(before) && current !== undefined ? itemsByKeys(before, names).get(keyText(current, names)) : undefined;
  return { now: current, before: earlier, schema: isJsonObject(items) ? items : undefined };
}

// There may be a finding about every item of a list, and going through all items for each would take the square of that.
const indexed = new WeakMap<readonly JsonValue[], ReadonlyMap<string, JsonValue>>();

/** The items of a map-like list by their keys; of several with the same, the first. */
function itemsByKeys(items: readonly JsonValue[], names: readonly string[]): ReadonlyMap<string, JsonValue> {
  const known = indexed.get(items);
  if (known !== undefined) return known;
  const made = new Map(items.map((one) => [keyText(one, names), one] as const).reverse());
  indexed.set(items, made);
  return made;
}

function keyText(item: JsonValue, names: readonly string[]): string {
  return printJson(names.map((name) => memberOf(item, name) ?? null));
}

/** Reads `spec.list[0].a` and `spec.map[key]`; a key that looks like a number is an index only where there is a list. */
function parsePath(path: string): Step[] | undefined {
  const steps: Step[] = [];
  const token = /\.?([^.[\]]+)|\[(\d+)\]|\[([^\]]+)\]/y;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    if (match === null) return undefined;
    const [, field, index, key] = match;
    steps.push(index === undefined ? { field: field ?? key ?? "" } : { index: Number(index) });
  }
  return steps;
}
