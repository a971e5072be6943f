// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/function-protocol";
import { FieldPathError, kindOf } from "./read-path.ts";

/** Turns the value found at `path` into a type, or throws WRONG_TYPE. */
export type Reader<T> = (value: JsonValue, path: string) => T;

export const asString: Reader<string> = (value, path) => {
  if (typeof value !== "string") throw wrongType(path, value, "a string");
  return value;
};

export const asBoolean: Reader<boolean> = (value, path) => {
  if (typeof value !== "boolean") throw wrongType(path, value, "true or false");
  return value;
};

export const asNumber: Reader<number> = (value, path) => {
  if (typeof value !== "number") throw wrongType(path, value, "a number");
  return value;
};

/** All numbers travel as doubles, so an integer is any whole one. */
export const asInteger: Reader<number> = (value, path) => {
  const number = asNumber(value, path);
  if (!Number.isInteger(number)) throw new FieldPathError("WRONG_TYPE", path, `is ${number}, not an integer`);
  return number;
};

/** As the Go SDK reads integers: what follows the point is cut off. */
export const asTruncatedInteger: Reader<number> = (value, path) => Math.trunc(asNumber(value, path));

export const asObject: Reader<JsonObject> = (value, path) => {
  if (!isJsonObject(value)) throw wrongType(path, value, "an object");
  return value;
};

export const asArray: Reader<JsonValue[]> = (value, path) => {
  if (!Array.isArray(value)) throw wrongType(path, value, "a list");
  return value;
};

export const asStringArray: Reader<string[]> = (value, path) =>
  asArray(value, path).map((item, index) => asString(item, `${path}[${index}]`));

export const asStringObject: Reader<Record<string, string>> = (value, path) => {
  const object = asObject(value, path);
  for (const [key, member] of Object.entries(object)) asString(member, `${path}[${key}]`);
  return { ...object } as Record<string, string>;
};

function wrongType(path: string, value: JsonValue, expected: string): FieldPathError {
  return new FieldPathError("WRONG_TYPE", path, `is ${kindOf(value)}, not ${expected}`);
}
