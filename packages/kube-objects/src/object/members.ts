// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, isNumber, type JsonObject, type JsonValue, ownValue, withOwnValue } from "../json/json-value.ts";

/** A path of member names, such as `["metadata", "labels"]`. */
type MemberPath = readonly string[];

/** The value at a path. Undefined when a member on the path is missing or is not an object. */
export function memberAt(object: object, path: MemberPath): JsonValue | undefined {
  let value: unknown = object;
  for (const key of path) {
    if (!isJsonObject(value)) return undefined;
    value = ownValue(value, key);
  }
  return value as JsonValue | undefined;
}

/** The object at a path; an empty object when it is missing. */
export function objectAt(object: object, path: MemberPath): JsonObject {
  return optionalObjectAt(object, path) ?? {};
}

/** The object at a path; undefined when it is missing. */
export function optionalObjectAt(object: object, path: MemberPath): JsonObject | undefined {
  const value = memberAt(object, path);
  return isJsonObject(value) ? value : undefined;
}

/** The objects in the list at a path. Other items are left out. */
export function objectsAt(object: object, path: MemberPath): JsonObject[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The string at a path; undefined when it is missing or empty. */
export function textAt(object: object, path: MemberPath): string | undefined {
  return stringAt(object, path) || undefined;
}

/** The string at a path; the empty string when it is missing. */
export function stringAt(object: object, path: MemberPath): string {
  const value = memberAt(object, path);
  return typeof value === "string" ? value : "";
}

/** The strings in the list at a path. Other items are left out. */
export function textsAt(object: object, path: MemberPath): string[] {
  const value = memberAt(object, path);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/** The map of strings at a path; undefined when it is missing. */
export function textMapAt(object: object, path: MemberPath): Readonly<Record<string, string>> | undefined {
  return optionalObjectAt(object, path) as Readonly<Record<string, string>> | undefined;
}

/** The number at a path; 0 when it is missing. An integer beyond ±2^53 becomes the nearest double. */
export function numberAt(object: object, path: MemberPath): number {
  const value = memberAt(object, path);
  return isNumber(value) ? Number(value) : 0;
}

/**
 * A copy of the object with a value at a path; undefined removes the member. Missing objects on the path are created. Members off the path
 * are shared with the original, and the original itself is returned when nothing changes.
 */
export function withMember<T extends JsonObject>(object: T, path: MemberPath, value: JsonValue | undefined): T {
  return changeMember(object, path, value) as T;
}

function changeMember(object: JsonObject, path: MemberPath, value: JsonValue | undefined): JsonObject {
  const [key, ...rest] = path;
  if (key === undefined) return object;
  if (rest.length === 0) return setMember(object, key, value);
  const inner = ownValue(object, key);
  if (value === undefined && !isJsonObject(inner)) return object;
  const changed = changeMember(isJsonObject(inner) ? inner : {}, rest, value);
  return changed === inner ? object : withOwnValue(object, key, changed);
}

function setMember(object: JsonObject, key: string, value: JsonValue | undefined): JsonObject {
  if (value !== undefined) return ownValue(object, key) === value ? object : withOwnValue(object, key, value);
  if (!Object.hasOwn(object, key)) return object;
  const { [key]: _removed, ...rest } = object;
  return rest;
}
