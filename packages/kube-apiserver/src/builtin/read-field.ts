// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue, ownValue } from "@purlin/kube-objects";

/** The value at a path of names; undefined where it leads nowhere. */
export function valueAt(object: JsonObject, ...path: readonly string[]): JsonValue | undefined {
  let value: JsonValue | undefined = object;
  for (const name of path) {
    value = isJsonObject(value) ? ownValue(value, name) : undefined;
  }
  return value;
}

/** The text at a path; empty where there is none. */
export function textAt(object: JsonObject, ...path: readonly string[]): string {
  const value = valueAt(object, ...path);
  return typeof value === "string" ? value : "";
}

/** The object at a path; empty where there is none. */
export function objectAt(object: JsonObject, ...path: readonly string[]): JsonObject {
  const value = valueAt(object, ...path);
  return isJsonObject(value) ? value : {};
}

/** A field to select by: the text at a path. */
function textField(path: string): (object: JsonObject) => string {
  const names = path.split(".");
  return (object) => {
    const value = valueAt(object, ...names);
    return value === undefined || value === null ? "" : String(value);
  };
}

/** Fields to select by, each named by its path. */
export function textFields(...paths: readonly string[]): Record<string, (object: JsonObject) => string> {
  return Object.fromEntries(paths.map((path) => [path, textField(path)]));
}
