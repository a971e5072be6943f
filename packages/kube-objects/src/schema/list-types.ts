// SPDX-License-Identifier: Apache-2.0
import { duplicateValue, type FieldError, invalidValue } from "../errors/field-error.ts";
import { isJsonObject, type JsonArray, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue, setOwnValue } from "../json/own-value.ts";
import { bracketedText, indexPlace, type Place, type SchemaFinding } from "./finding.ts";
import { walkStructure } from "./structural-walk.ts";
import { valueKey, wholeValue } from "./whole-value.ts";

/**
 * Checks that lists declared as sets hold no item twice, and lists declared as maps no two items with the same keys
 * (`x-kubernetes-list-type`). Of several equal items the second is reported.
 */
export function checkListTypes(value: unknown, schema: JsonObject): SchemaFinding[] {
  const findings: SchemaFinding[] = [];
  walkStructure(value, schema, {
    list(items, node, place) {
      if (findings.length >= mostFindings) return;
      if (node.listType === "set") findings.push(...checkSet(items, place));
      if (node.listType === "map") findings.push(...checkMap(items, node.listMapKeys, place));
    },
  });
  return findings;
}

function checkSet(items: JsonArray, place: Place | undefined): SchemaFinding[] {
  return secondOccurrences(items.map((item) => valueKey(item ?? null))).map((index) =>
    asFinding(duplicateValue(itemField(place, index), wholeValue(items[index] ?? null))),
  );
}

function checkMap(items: JsonArray, keys: readonly string[], place: Place | undefined): SchemaFinding[] {
  const stranger = items.findIndex((item) => item !== null && item !== undefined && !isJsonObject(item));
  if (stranger >= 0) {
    const value = wholeValue(items[stranger] ?? null);
    return [
      asFinding(invalidValue(itemField(place, stranger), value, "must be an object for an array of list-type map")),
    ];
  }
  const [only = ""] = keys;
  const identityOf = (item: JsonValue): string => JSON.stringify(keys.map((key) => keyText(item, key)));
  const identities = items.map((item) => (keys.length === 1 ? keyText(item, only) : identityOf(item)));
  return secondOccurrences(identities).map((index) =>
    asFinding(duplicateValue(itemField(place, index), wholeValue(keysOf(items[index], keys)))),
  );
}

function keyText(item: JsonValue | undefined, key: string): string {
  const value = isJsonObject(item) ? ownValue(item, key) : undefined;
  return value === undefined ? "" : valueKey(value);
}

function keysOf(item: JsonValue | undefined, names: readonly string[]): JsonObject {
  const keys: Record<string, JsonValue> = {};
  for (const name of names) {
    const value = isJsonObject(item) ? ownValue(item, name) : undefined;
    if (value !== undefined) setOwnValue(keys, name, value);
  }
  return keys;
}

/** The first ones are enough: a list can have as many findings as items. */
const mostFindings = 100;

function secondOccurrences(identities: readonly string[]): number[] {
  const seen = new Set(identities);
  if (seen.size === identities.length) return [];
  seen.clear();
  const [repeated, found] = [new Set<string>(), [] as number[]];
  for (let index = 0; index < identities.length && found.length < mostFindings; index++) {
    const identity = identities[index] ?? "";
    if (!seen.has(identity)) seen.add(identity);
    else if (!repeated.has(identity)) {
      repeated.add(identity);
      found.push(index);
    }
  }
  return found;
}

const itemField = (place: Place | undefined, index: number): string => bracketedText(indexPlace(place, index));
const asFinding = (error: FieldError): SchemaFinding => ({ ...error, path: error.field });
