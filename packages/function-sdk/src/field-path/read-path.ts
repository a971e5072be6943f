// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/function-protocol";
import { FunctionError } from "../errors/function-error.ts";
import { formatPath, parsePath, type Segment, wildcard } from "./parse-path.ts";

/**
 * The value at a path. Throws NOT_FOUND when a member or item on the way is missing or null, NOT_OBJECT or NOT_ARRAY when
 * something on the way is of another kind.
 */
export function readPath(root: JsonObject, path: string): JsonValue {
  const value = findPath(root, path);
  if (value === undefined) throw notFound(root, parsePath(path));
  return value;
}

/** As {@link readPath}, but undefined when there is nothing. Most fields are optional, and throwing is slow. */
export function findPath(root: JsonObject, path: string): JsonValue | undefined {
  const segments = parsePath(path);
  let value: JsonValue = root;
  for (let position = 0; position < segments.length; position++) {
    const segment = segments[position] as Segment;
    const child = childOf(value, segment);
    if (child === undefined) {
      checkContainer(value, segments, position);
      return undefined;
    }
    value = child;
  }
  return value;
}

function checkContainer(container: JsonValue, segments: readonly Segment[], position: number): void {
  const segment = segments[position];
  if (segment === wildcard) throw wildcardRefused(segments);
  if (container === null) return;
  const before = formatPath(segments.slice(0, position));
  if (typeof segment === "number" && !Array.isArray(container)) throw notArray(before, container);
  if (typeof segment === "string" && !isJsonObject(container)) throw notObject(before, container);
}

function notFound(root: JsonObject, segments: readonly Segment[]): FieldPathError {
  let value: JsonValue = root;
  let position = 0;
  for (; position < segments.length; position++) {
    const child = childOf(value, segments[position] as Segment);
    if (child === undefined) break;
    value = child;
  }
  const problem = Array.isArray(value) ? `the list has ${value.length} items` : "no such field";
  return new FieldPathError("NOT_FOUND", formatPath(segments.slice(0, position + 1)), problem);
}

/** The member or item a step leads to. What an object inherits is not a member. */
export function childOf(container: JsonValue, segment: Segment): JsonValue | undefined {
  if (Array.isArray(container)) return typeof segment === "number" ? container[segment] : undefined;
  if (typeof segment !== "string" || typeof container !== "object" || container === null) return undefined;
  return Object.hasOwn(container, segment) ? container[segment] : undefined;
}

/** A path with wildcards as the paths of everything it stands for, in the order of the object. Missing parts: none. */
export function expandPath(root: JsonObject, path: string): string[] {
  let found: { readonly path: Segment[]; readonly value: JsonValue }[] = [{ path: [], value: root }];
  for (const segment of parsePath(path)) {
    found = found.flatMap(({ path: at, value }) =>
      children(value, segment).map(([key, child]) => ({ path: [...at, key], value: child })),
    );
  }
  return found.map((one) => formatPath(one.path));
}

function children(value: JsonValue, segment: Segment): [Segment, JsonValue][] {
  if (segment === wildcard) {
    if (Array.isArray(value)) return value.map((item, index) => [index, item]);
    return isJsonObject(value) ? Object.entries(value) : [];
  }
  const child = childOf(value, segment);
  return child === undefined ? [] : [[segment, child]];
}

/** A word for the kind of a JSON value, with its article. */
export function kindOf(value: JsonValue): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

export function wildcardRefused(segments: readonly Segment[]): FieldPathError {
  const problem = "a wildcard can only be expanded, not read or written";
  return new FieldPathError("INVALID_PATH", formatPath(segments), problem);
}

export function notArray(path: string, value: JsonValue): FieldPathError {
  return new FieldPathError("NOT_ARRAY", path, `is ${kindOf(value)}, not a list`);
}

export function notObject(path: string, value: JsonValue): FieldPathError {
  return new FieldPathError("NOT_OBJECT", path, `is ${kindOf(value)}, not an object`);
}

/** Why a field path could not be followed. */
type FieldPathErrorCode = "INVALID_PATH" | "NOT_FOUND" | "NOT_OBJECT" | "NOT_ARRAY" | "WRONG_TYPE" | "INDEX_TOO_LARGE";

/** A field path that cannot be read as one, or does not fit the object. */
export class FieldPathError extends FunctionError {
  /** The path as far as it could be followed. */
  readonly path: string;

  constructor(code: FieldPathErrorCode, path: string, problem: string) {
    super(code, `${path === "" ? "field path" : path}: ${problem}`);
    this.name = "FieldPathError";
    this.path = path;
  }
}

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
