// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "../json/json-value.ts";
import { ownValue, withOwnValue } from "../json/own-value.ts";

/** The value at a path of member names, or undefined when something on the way is missing or no object. */
export function memberAt(object: object, path: readonly string[]): JsonValue | undefined {
  let value: unknown = object;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = ownValue(value, key);
  }
  return value as JsonValue | undefined;
}

/** The object at a path; an empty one when there is none. */
export function objectAt(object: object, path: readonly string[]): JsonObject {
  const value = memberAt(object, path);
  return isJsonObject(value) ? value : {};
}

/** The non-empty text at a path. */
export function textAt(object: object, path: readonly string[]): string | undefined {
  const value = memberAt(object, path);
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The texts of the list at a path; whatever is no text is left out. */
export function textsAt(object: object, path: readonly string[]): readonly string[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The map of texts at a path, or undefined when there is none. */
export function textMapAt(object: object, path: readonly string[]): Readonly<Record<string, string>> | undefined {
  const value = memberAt(object, path);
  return isJsonObject(value) ? (value as Readonly<Record<string, string>>) : undefined;
}

/**
 * A copy of the object with a value at a path; undefined takes the member away. Objects on the way are made when they
 * are missing; everything off the path is shared with the original, which is the answer when nothing changes.
 */
export function withMember<T extends object>(object: T, path: readonly string[], value: JsonValue | undefined): T {
  const [key, ...rest] = path;
  if (key === undefined) return object;
  const json = object as unknown as JsonObject;
  if (rest.length === 0) return setMember(json, key, value) as unknown as T;
  const inner = ownValue(json, key);
  if (value === undefined && !isJsonObject(inner)) return object;
  const changed = withMember(isJsonObject(inner) ? inner : {}, rest, value);
  return (changed === inner ? json : withOwnValue(json, key, changed)) as unknown as T;
}

function setMember(object: JsonObject, key: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return ownValue(object, key) === value ? object : withOwnValue(object, key, value);
  if (!Object.hasOwn(object, key)) return object;
  const { [key]: _gone, ...rest } = object;
  return rest;
}
