// SPDX-License-Identifier: Apache-2.0

/** Anything JSON can say. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** A JSON object. */
export interface JsonObject {
  [key: string]: JsonValue;
}

/** Sets an own property whatever its name: a plain assignment to `__proto__` would change the prototype. */
export function setOwn(object: JsonObject, key: string, value: JsonValue): void {
  if (key !== "__proto__") object[key] = value;
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** True for an object that is neither null nor an array. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
