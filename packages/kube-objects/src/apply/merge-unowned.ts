// SPDX-License-Identifier: Apache-2.0
// Merging without field ownership: what a mutating admission policy sets.
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { sortedKeys } from "../json/utf8.ts";
import type { ApplyType } from "./apply-type.ts";
import { mergeValues } from "./typed-merge.ts";
import { typeProblem } from "./typed-validate.ts";

/** The object with a patch merged in, without ownership. Throws an Error with the text of the reference. */
export function mergeUnowned(type: ApplyType, object: JsonObject, patch: JsonObject): JsonObject {
  const problem = typeProblem(type, patch, { allowDuplicates: false });
  if (problem !== undefined) throw new Error(`failed to convert patch object to typed object: ${problem}`);
  const live = typeProblem(type, object, { allowDuplicates: true });
  if (live !== undefined) throw new Error(`failed to convert original object to typed object: ${live}`);
  const atomics = atomicPaths(type, patch, "");
  if (atomics.length > 0) {
    const why = `may not mutate atomic arrays, maps or structs: ${atomics.join(", ")}`;
    throw new Error(`invalid ApplyConfiguration: ${why}`);
  }
  return mergeValues(type, object, patch) as JsonObject;
}

/** The paths of maps and lists in a patch that are owned as a whole. */
function atomicPaths(type: ApplyType, value: JsonValue, path: string): string[] {
  if (isJsonObject(value) && type.map) {
    const { map } = type;
    const inside = sortedKeys(value).flatMap((key) => {
      const field = map.field(key);
      return field === undefined ? [] : atomicPaths(field.type, value[key] ?? null, `${path}.${key}`);
    });
    return map.atomic ? [path, ...inside] : inside;
  }
  if (Array.isArray(value) && type.list) {
    const { list } = type;
    const items = value as readonly JsonValue[];
    const inside = items.flatMap((item, index) => atomicPaths(list.item, item, `${path}[${index}]`));
    return list.atomic ? [path, ...inside] : inside;
  }
  return [];
}
